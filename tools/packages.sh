# Sourced by demo and test: makes sure that packages are there, quietly when
# they are.

# need PACKAGE...: install what is missing (Debian and Ubuntu), or say what is.
need() {
    missing=
    if ! command -v dpkg-query >/dev/null 2>&1; then
        echo "This is no Debian or Ubuntu: install the counterparts of these" \
             "packages, then run cmake yourself (see README.md): $*" >&2
        return 1
    fi
    for package; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null |
            grep -q 'ok installed' || missing="$missing $package"
    done
    [ -z "$missing" ] && return 0

    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null 2>&1; then
        as_root=sudo
    else
        echo "Missing packages, and neither root nor sudo to install them:" \
             "$missing" >&2
        return 1
    fi
    echo "installing:$missing"
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! { $as_root apt-get update -q &&
           DEBIAN_FRONTEND=noninteractive $as_root apt-get install -q -y \
               --no-install-recommends $missing; } >"$log" 2>&1 </dev/null
    then
        cat "$log" >&2
        rm -f "$log"
        echo "could not install:$missing" >&2
        return 1
    fi
    rm -f "$log"
}

# build DIR [CMAKE OPTION...]: configure and build, telling what went wrong.
build() {
    dir=$1
    shift
    echo "building $dir"
    log=$(mktemp)
    if ! { cmake -S . -B "$dir" -G Ninja "$@" && cmake --build "$dir"; } \
        >"$log" 2>&1
    then
        cat "$log" >&2
        rm -f "$log"
        echo "the build in $dir failed" >&2
        return 1
    fi
    rm -f "$log"
}

BUILD_PACKAGES="gcc libc6-dev cmake ninja-build pkg-config libyaml-dev
    libcyaml-dev libpcre2-dev libjansson-dev nettle-dev"
