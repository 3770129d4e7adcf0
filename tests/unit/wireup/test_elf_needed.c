/* What files need by their dynamic section, as far as they are no broken ones. */
#include "wireup/mpi_library.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static char folder[] = "/tmp/elf-needed-XXXXXX";

static const char *write_file(const char *name, const void *bytes, size_t len)
{
    static char path[96];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, bytes, len), (ssize_t)len);
    (void)close(fd);
    return path;
}

/* Whether it is found out that the file needs MPICH. */
static bool is_read(const char *path)
{
    static const struct jr_mpi_search search = {.cache = "/dev/null"};
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_mpi_library found;
    bool read = jr_mpi_library_find(&found, &arena, path, &search);
    CU_ASSERT_EQUAL(found.kind, read ? JR_MPI_KIND_MPICH : JR_MPI_KIND_NONE);
    jr_arena_release(&arena);
    return read;
}

static void refuses_what_is_no_program(void)
{
    char path[96];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_FALSE(is_read("/nowhere/at/all"));
    CU_ASSERT_FALSE(is_read(folder));
    CU_ASSERT_FALSE(is_read("/dev/null"));
    CU_ASSERT_FALSE(is_read(write_file("empty", "", 0)));
    CU_ASSERT_FALSE(is_read(write_file("script", "#!/bin/sh\n", 10)));
    CU_ASSERT_FALSE(is_read(write_file("magic", ELFMAG, SELFMAG)));
    (void)snprintf(path, sizeof path, "%s/fifo", folder);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    CU_ASSERT_FALSE(is_read(path));
    (void)unlink(path);
}

/* A head, one program header that is a dynamic section, and one that loads the file. */
struct image {
    ElfW(Ehdr) head;
    ElfW(Phdr) segments[2];
    ElfW(Dyn) dynamic[3];
    char texts[32];
};

static struct image make_image(void)
{
    struct image image = {
        .head = {.e_type = ET_DYN,
                 .e_phoff = offsetof(struct image, segments),
                 .e_phentsize = sizeof(ElfW(Phdr)),
                 .e_phnum = 2},
        .segments = {{.p_type = PT_LOAD, .p_filesz = sizeof image},
                     {.p_type = PT_DYNAMIC,
                      .p_offset = offsetof(struct image, dynamic),
                      .p_filesz = sizeof image.dynamic}},
        .dynamic = {{.d_tag = DT_STRTAB, .d_un.d_ptr = offsetof(struct image, texts)},
                    {.d_tag = DT_NEEDED, .d_un.d_val = 1},
                    {.d_tag = DT_NULL}},
        .texts = "\0libmpich.so.12",
    };
    memcpy(image.head.e_ident, ELFMAG, SELFMAG);
    image.head.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    image.head.e_ident[EI_DATA] =
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    return image;
}

static bool is_image_read(const struct image *image, size_t len)
{
    return is_read(write_file("image", image, len));
}

static void reads_an_image(void)
{
    struct image image = make_image();
    CU_ASSERT_TRUE(is_image_read(&image, sizeof image));
}

static void refuses_broken_images(void)
{
    struct image image = make_image();
    image.head.e_ident[EI_DATA] ^= 3;
    CU_ASSERT_FALSE(is_image_read(&image, sizeof image));
    image = make_image();
    image.head.e_ident[EI_CLASS] ^= 3;
    CU_ASSERT_FALSE(is_image_read(&image, sizeof image));
    image = make_image();
    image.head.e_type = ET_REL;
    CU_ASSERT_FALSE(is_image_read(&image, sizeof image));
    image = make_image();
    image.head.e_phnum = 0xfffe;
    CU_ASSERT_FALSE(is_image_read(&image, sizeof image));
    image = make_image();
    image.head.e_phoff = (ElfW(Off)) - 1;
    CU_ASSERT_FALSE(is_image_read(&image, sizeof image));
    image = make_image();
    image.segments[1].p_filesz = SIZE_MAX;
    CU_ASSERT_FALSE(is_image_read(&image, sizeof image));
    image = make_image();
    image.segments[1].p_offset = sizeof image;
    CU_ASSERT_FALSE(is_image_read(&image, sizeof image));
    image = make_image();
    image.dynamic[0].d_un.d_ptr = (ElfW(Addr)) - 1;
    CU_ASSERT_FALSE(is_image_read(&image, sizeof image));
    image = make_image();
    CU_ASSERT_FALSE(is_image_read(&image, offsetof(struct image, dynamic)));
}

/* Texts beyond the file are none, and without a dynamic section nothing is needed. */
static void leaves_out_what_is_not_there(void)
{
    static const ElfW(Addr) nowhere[] = {1u << 20, (ElfW(Addr)) - 1};
    struct image image;
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        image = make_image();
        image.dynamic[1].d_un.d_val = nowhere[i];
        CU_ASSERT_FALSE(is_image_read(&image, sizeof image));
    }
    image = make_image();
    image.head.e_phnum = 1;
    CU_ASSERT_FALSE(is_image_read(&image, sizeof image));
}

static void cleans_up(void)
{
    static const char *const names[] = {"empty", "script", "magic", "image"};
    char path[96];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        CU_ASSERT_EQUAL(unlink(path), 0);
    }
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

JR_UNIT_MAIN("elf_needed", CASE(refuses_what_is_no_program), CASE(reads_an_image),
             CASE(refuses_broken_images), CASE(leaves_out_what_is_not_there), CASE(cleans_up))
