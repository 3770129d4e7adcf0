# Sourced by demo and test: makes sure that packages are there, quietly when
# they are.

# need PACKAGE...: install what is missing (Debian and Ubuntu), or say what is.
# What can be had is installed, whatever else cannot.
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
    # One source that does not answer leaves the others.
    $as_root apt-get update -q >"$log" 2>&1 </dev/null || true
    refused=
    # One package that is not there makes apt refuse them all.
    # shellcheck disable=SC2086
    if ! install_packages $missing; then
        for package in $missing; do
            install_packages "$package" || refused="$refused $package"
        done
    fi
    [ -z "$refused" ] || cat "$log" >&2
    rm -f "$log"
    [ -z "$refused" ] && return 0
    echo "COULD NOT INSTALL:$refused" >&2
    return 1
}

# install_packages PACKAGE...: by $as_root, and with what it says in $log.
install_packages() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
        --no-install-recommends "$@" >>"$log" 2>&1 </dev/null
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
