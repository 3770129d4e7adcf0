/*
 * Which cell begins when, and on what: the schedule played through. A row has kinds of cells ("c2"
 * needs two cores, "d1" a device, "s" shares, "a" is of all nodes, "m01,11" may have these devices
 * of each node), the kind of each cell ("x0": one that is skipped; the last but "+": of all that
 * follow), the rooms of the nodes, a limit, and what happens:
 *
 *   b     begin what can          e3, o3   cell 3 ends, and then the same, or not
 *   a0.2  device 2 of node 0 is away; again: it is back
 *   l1    node 1 is lost          r1    and back
 *   d0    kind 0 is dropped       x0.1  device 1 of node 0 is lost
 *   ?     does a kind lack what others have?      c0    could kind 0 begin?
 *   m     is there more for one node, for several?
 *   n     a cell begins, and does not after all
 *
 * What is told of a cell that begins is its number, its node where there are several, and its cores
 * and devices: "b1@0:c0,1:d2".
 */
#include "sweep/schedule.h"

#include "base/buf.h"
#include "unit.h"

enum { MOST = 64, FEW = 8 };

struct play {
    const char *name, *kinds, *cells, *rooms;
    uint32_t parallel;
    const char *script, *expected;
};

struct player {
    struct jr_schedule schedule;
    struct jr_arena arena;
    struct jr_slots kinds[FEW];
    bool may[FEW][FEW][FEW], skips[MOST];
    const bool *of_nodes[FEW][FEW];
    uint32_t kind_of[MOST];
    struct jr_node_room rooms[FEW];
    struct jr_grant grants[MOST];
    struct jr_buf told;
};

static uint32_t read_number(const char **at)
{
    char *end;
    uint32_t number = (uint32_t)strtoul(*at, &end, 10);
    *at = end;
    return number;
}

static size_t read_kinds(struct player *player, const char *at)
{
    size_t count = 0;
    for (; *at != '\0'; at += *at == ' ', count++) {
        struct jr_slots *kind = &player->kinds[count];
        size_t node = 0, device = 0;
        while (*at != ' ' && *at != '\0') {
            char what = *at++;
            if (what == 'c')
                kind->cores = read_number(&at);
            if (what == 'd')
                kind->devices = read_number(&at);
            kind->shares |= what == 's';
            kind->alone |= what == 'a';
            for (; what == 'm' && *at != ' ' && *at != '\0'; at++)
                if (*at == ',')
                    device = 0, node++;
                else
                    player->may[count][node][device++] = *at == '1';
            if (what == 'm')
                kind->may = player->of_nodes[count];
        }
        for (node = 0; node < FEW; node++)
            player->of_nodes[count][node] = player->may[count][node];
    }
    return count;
}

static void start(struct player *player, const struct play *play)
{
    struct jr_schedule with = {.kinds = player->kinds,
                               .kinds_count = read_kinds(player, play->kinds),
                               .kind_of = player->kind_of,
                               .skips = player->skips,
                               .rooms = player->rooms,
                               .parallel = play->parallel};
    for (const char *at = play->cells; *at != '\0'; at++) {
        player->skips[with.count] = *at == 'x';
        at += *at == 'x';
        if (*at != '+')
            player->kind_of[with.count++] = (uint32_t)(*at - '0');
        for (; *at == '+' && with.count < MOST; with.count++)
            player->kind_of[with.count] = player->kind_of[with.count - 1];
    }
    for (const char *at = play->rooms; *at != '\0'; at += *at == ' ', with.nodes_count++)
        while (*at != ' ' && *at != '\0') {
            bool cores = *at++ == 'c';
            uint32_t number = read_number(&at);
            if (cores)
                player->rooms[with.nodes_count].cores = number;
            else
                player->rooms[with.nodes_count].devices = number;
        }
    jr_schedule_init(&player->schedule, &with);
}

static void tell_list(struct player *player, const char *what, const uint32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        jr_buf_printf(&player->told, "%s%u", i == 0 ? what : ",", list[i]);
}

static void begin(struct player *player)
{
    size_t cell;
    struct jr_grant grant;
    while (jr_schedule_next(&player->schedule, &player->arena, &cell, &grant)) {
        player->grants[cell] = grant;
        jr_buf_printf(&player->told, "b%zu", cell);
        if (grant.alone)
            jr_buf_char(&player->told, '*');
        else if (player->schedule.nodes_count > 1)
            jr_buf_printf(&player->told, "@%u", grant.node);
        tell_list(player, ":c", grant.cores, grant.cores_count);
        tell_list(player, ":d", grant.devices, grant.devices_count);
        jr_buf_char(&player->told, ' ');
    }
}

static void act(struct player *player, char what, uint32_t first, uint32_t second)
{
    struct jr_schedule *schedule = &player->schedule;
    struct jr_buf *told = &player->told;
    struct jr_grant grant;
    uint32_t found = 9;
    size_t cell;
    if (what == 'e' || what == 'o') {
        jr_buf_printf(told, "e%u ", first);
        jr_schedule_end(schedule, &player->grants[first]);
    }
    if (what == 'e' || what == 'b')
        begin(player);
    if (what == 'a')
        schedule->nodes[first].device_away[second] = !schedule->nodes[first].device_away[second];
    if (what == 'l')
        jr_schedule_lose(schedule, first);
    if (what == 'r')
        jr_schedule_regain(schedule, first);
    if (what == 'd')
        jr_schedule_drop(schedule, first);
    if (what == 'x')
        jr_buf_printf(told, "x%d ", jr_schedule_lose_device(schedule, first, second));
    if (what == '?' && jr_schedule_lacks(schedule, &found))
        jr_buf_printf(told, "?%u ", found);
    else if (what == '?')
        jr_buf_str(told, "?- ");
    if (what == 'c') {
        bool could = jr_schedule_could_begin(schedule, first, &found);
        jr_buf_printf(told, "c%d/%u ", could, found);
    }
    if (what == 'm')
        jr_buf_printf(told, "m%d%d ", jr_schedule_has_more(schedule, false),
                      jr_schedule_has_more(schedule, true));
    if (what != 'n')
        return;
    CU_ASSERT_TRUE_FATAL(jr_schedule_next(schedule, &player->arena, &cell, &grant));
    jr_schedule_undo(schedule, cell, &grant);
    jr_buf_printf(told, "n%zu ", cell);
}

static void run_play(const struct play *play)
{
    static const struct player none;
    static struct player player;
    player = none;
    player.arena = JR_ARENA_INIT;
    player.told = JR_BUF_INIT;
    start(&player, play);
    for (const char *at = play->script; *at != '\0'; at += *at == ' ') {
        char what = *at++;
        uint32_t first = read_number(&at), second = 0;
        if (*at == '.') {
            at++;
            second = read_number(&at);
        }
        act(&player, what, first, second);
    }
    struct jr_buf expected JR_BUF_CLEANUP = JR_BUF_INIT, got JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&expected, "%s: %s", play->name, play->expected);
    jr_buf_printf(&got, "%s: %s", play->name, player.told.data == NULL ? "" : player.told.data);
    if (got.len > 0 && got.data[got.len - 1] == ' ' && player.told.len > 0)
        got.data[--got.len] = '\0';
    JR_ASSERT_TEXT(got.data, expected.data);
    jr_buf_release(&player.told);
    jr_schedule_release(&player.schedule);
    jr_arena_release(&player.arena);
}

static const struct play plays[] = {
    {"begins in order as room becomes free", "c1", "0000", "c2", 0, "b m e1 e0 m e2 e3",
     "b0:c0 b1:c1 m10 e1 b2:c1 e0 b3:c0 m00 e2 e3"},
    {"gives each cell its own", "c2 d1", "0110", "c4d2", 0, "b", "b0:c0,1 b1:d0 b2:d1 b3:c2,3"},
    {"gives back what was had", "c1", "000", "c2", 0, "b e0", "b0:c0 b1:c1 e0 b2:c0"},
    {"obeys the limit", "c1", "000", "c8", 1, "b e0", "b0:c0 e0 b1:c0"},
    {"lets cells share if told to", "c2s", "00000", "c2", 3, "b e0", "b0:c0,1 b1 b2 e0 b3:c0,1"},
    {"runs alone what is too large", "c9", "00", "c2d2", 0, "b e0", "b0 e0 b1"},
    {"runs alone what has too many devices", "d3", "00", "c2d2", 0, "b e0", "b0 e0 b1"},
    {"skips what is done", "c1", "x00x00", "c4", 0, "b", "b1:c0 b3:c1"},
    {"gives what somebody else holds to nobody, and tells who lacks it", "d2 d1", "011", "d3", 0,
     "a0.0 a0.2 b ? a0.0 b ? e1 ? a0.2 b ?", "b1:d1 ?0 b2:d0 ?- e1 ?0 b0:d1,2 ?-"},
    {"gives only devices that will do", "d1m0101", "000", "d4", 0, "b ? e1",
     "b0:d1 b1:d3 ?- e1 b2:d3"},
    {"takes back what was not to be had", "c1d1", "00", "c1d1", 0, "n n b e0",
     "n0 n0 b0:c0:d0 e0 b1:c0:d0"},
    {"begins no cell of a kind that was dropped", "c1 c2", "010", "c2", 0, "d0 b e1 m",
     "b1:c0,1 e1 m00"},
    /* Cell 1 needs all there is; the small ones behind it go first only so often. */
    {"brings a large cell to its turn", "c1 c2", "010+", "c2", 0,
     "b e0 e2 e3 e4 e5 e6 e7 e8 e9 e10 e11 e12 e13 e14 e15 e16 e17",
     "b0:c0 b2:c1 e0 b3:c0 e2 b4:c1 e3 b5:c0 e4 b6:c1 e5 b7:c0 e6 b8:c1 e7 b9:c0 e8 b10:c1 e9 "
     "b11:c0 e10 b12:c1 e11 b13:c0 e12 b14:c1 e13 b15:c0 e14 b16:c1 e15 b17:c0 e16 e17 b1:c0,1"},
    /* What did not begin after all has passed nobody over. */
    {"counts only cells that began", "c1 c2", "010+", "c2", 0,
     "b o2 n b o3 n b o4 n b o5 n b o6 n b o7 n b o8 n b o9 n b o10 n b o11 n b "
     "o12 n b o13 n b o14 n b o15 n b o16 n b e17 e0",
     "b0:c0 b2:c1 e2 n3 b3:c1 e3 n4 b4:c1 e4 n5 b5:c1 e5 n6 b6:c1 e6 n7 b7:c1 e7 n8 b8:c1 e8 n9 "
     "b9:c1 e9 n10 b10:c1 e10 n11 b11:c1 e11 n12 b12:c1 e12 n13 b13:c1 e13 n14 b14:c1 e14 n15 "
     "b15:c1 e15 n16 b16:c1 e16 n17 b17:c1 e17 e0 b1:c0,1"},
    /* A cell that would not begin anyway lacks nothing that somebody else has. */
    {"lacks nothing before its turn", "c2 c1 d1", "1011111111111111112+", "c2d1", 0,
     "a0.0 b ? e2 e3 e4 e5 e6 e7 e8 e9 e10 e11 e12 e13 e14 e15 ? e16 ? e17 ? e0 ?",
     "b0:c0 b2:c1 ?2 e2 b3:c1 e3 b4:c1 e4 b5:c1 e5 b6:c1 e6 b7:c1 e7 b8:c1 e8 "
     "b9:c1 e9 b10:c1 e10 b11:c1 e11 b12:c1 e12 b13:c1 e13 b14:c1 e14 b15:c1 e15 "
     "b16:c1 ?2 e16 b17:c1 ?- e17 ?- e0 b1:c0,1 ?2"},
    {"waits for the last part of a node", "c2d1", "0", "c2d1", 0, "a0.0 b ? a0.0 b",
     "?0 b0:c0,1:d0"},
    /* Beside others it begins only where a limit says how many there may be. */
    {"lets cells share within a limit alone", "c2s", "00", "c2", 0, "b e0", "b0:c0,1 e0 b1:c0,1"},
    {"shares no device that is away", "d1s", "00", "d1 d1", 2, "a0.0 b", "b0@1:d0 b1@0"},
    /* Also if less runs on it than on any other. */
    {"shares no node that is lost", "c2s", "000", "c1 c1", 2, "l0 b l1 e0 r0 b",
     "b0@1 b1@1 e0 b2@0"},
    {"fills one node after the other", "c1", "00000", "c2 c1", 0, "b e2 e0",
     "b0@0:c0 b1@0:c1 b2@1:c0 e2 b3@1:c0 e0 b4@0:c0"},
    /* A cell is not spread over nodes, however much they have together. */
    {"puts a cell on one node", "c1 d2", "011", "c1d1 c1d3", 0, "b e1",
     "b0@0:c0 b1@1:d0,1 e1 b2@1:d0,1"},
    {"knows which devices of each node will do", "d1m00,01", "00", "d2 d2", 0, "b e0",
     "b0@1:d1 e0 b1@1:d1"},
    /* Nothing runs beside it, and it waits for no more than its turn. */
    {"gives all nodes to a cell of several", "c1 c1a", "0101", "c1 c1", 0, "b e0 e2 e1 e3",
     "b0@0:c0 b2@1:c0 e0 e2 b1* e1 b3* e3"},
    {"begins nothing on a node that is lost", "c1 c1a", "0001", "c1 c1", 0,
     "b l0 e0 m e1 e2 m r0 b", "b0@0:c0 b1@1:c0 e0 m11 e1 b2@1:c0 e2 m01 b3*"},
    {"waits for each of the nodes", "c1a", "0", "c1 c1", 0, "l1 b r1 b", "b0*"},
    {"counts the limit over all nodes", "c1", "0000", "c2 c2", 3, "b e0",
     "b0@0:c0 b1@0:c1 b2@1:c0 e0 b3@0:c0"},
    /* What shares, and what is larger than any node, goes where least runs. */
    {"puts what has no room where least runs", "c1s c9", "00001", "c1 c1", 4, "b e0 e2",
     "b0@0:c0 b1@1:c0 b2@0 b3@1 e0 e2 b4@0"},
    /* Also once the cell that had it gives it back. */
    {"gives what is lost to nobody", "d1 d2", "00010", "d2 d1", 0,
     "b c1 x0.0 x0.0 c1 c0 e0 ? d1 e1 e4 e2 c1 m",
     "b0@0:d0 b1@0:d1 b2@1:d0 c1/2 x1 x0 c0/1 c1/1 e0 ?- e1 b4@0:d1 e4 e2 c1/1 m00"},
    /* Whatever needs no device of its own of one node can do without those that are lost. */
    {"goes on without what is lost", "d2 d2a d2s d3 c9d2 d1", "012345", "d2", 0,
     "x0.1 c0 c1 c2 c3 c4 c5 d0 c0", "x1 c0/1 c1/1 c1/1 c1/1 c1/1 c1/1 c1/1"}};

TEST(plays_each_row)
{
    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++)
        run_play(&plays[i]);
}
