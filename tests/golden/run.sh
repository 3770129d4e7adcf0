#!/bin/sh
# Hold what reading specs comes to against the golden folders.
#
#   run.sh PROGRAM [SOURCE]     PROGRAM is tests/golden/golden as built
#   UPDATE=1 run.sh ...         write what there is as what is expected
#
#   err/CASE/  spec.yaml (or spec.sh, which prints it), expected.txt: findings
#   warn/CASE/ the same, but no finding is an error
#   ok/CASE/   spec.yaml, expected.yaml: the normal form, itself a valid spec
#              of the same normal form, but for what is only validated (-v)
#   setup.sh   in a case: makes there what a repository may not hold: links
#   args       in a case: the program's arguments in place of the usual ones
#
# Other files of a case lie beside the spec.
#
# Then: every code below JR0400 is provoked by a case, but for JR0100, which
# cannot be. From JR0400 on it takes a machine, a scheduler or a run: the tests
# of those (unit, schedulers, machines, system) expect each of these codes by name.
set -u
program=$(realpath "$1")
source=$(realpath "${2:-$(dirname "$0")}")
[ -x "$program" ] || { echo "golden: cannot run $1"; exit 1; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
ran=0 failed=0

fail() {
    echo "golden: $*"
    failed=$((failed + 1))
}

# run_case DIR VERB STATUS EXPECTED: run in a copy of DIR and compare.
run_case() {
    dir=$1 name=${1#"$source"/} verb=$2 status=$3 expected=$1/$4
    ran=$((ran + 1))
    copy=$scratch/case
    rm -rf "$copy" && cp -R "$dir" "$copy" && cd "$copy" || exit 1
    [ ! -f setup.sh ] || sh ./setup.sh
    [ ! -f spec.sh ] || sh ./spec.sh >spec.yaml
    args="$verb spec.yaml"
    [ ! -f args ] || args=$(cat args)
    # shellcheck disable=SC2086  # words
    "$program" $args >out 2>&1
    got=$?
    sed "s#$copy#/WORK#g" out >actual
    [ "$got" -eq "$status" ] || fail "$name: exit status $got, not $status"
    [ "${UPDATE:-0}" != 1 ] || cp actual "$expected"
    diff -u "$expected" actual || fail "$name: differs"
}

for dir in "$source"/err/*/; do
    run_case "${dir%/}" check 3 expected.txt
done
for dir in "$source"/warn/*/; do
    run_case "${dir%/}" check 0 expected.txt
done
for dir in "$source"/ok/*/; do
    run_case "${dir%/}" normal 0 expected.yaml
    case " $args " in *" -v "*) continue ;; esac
    cp out again.yaml
    "$program" normal again.yaml >again.out 2>&1 && cmp -s out again.out ||
        fail "$name: its normal form has another one"
done

for code in $(sed -n 's/^ *X([A-Z0-9_]*, \([123][0-9][0-9]\),.*/\1/p' \
        "$source/../../src/diag/codes.h"); do
    [ "$code" = 100 ] || grep -q "\[JR0$code\]" "$source"/*/*/expected.txt ||
        fail "no case provokes JR0$code"
done

for code in $(sed -n 's/^ *X([A-Z0-9_]*, \([4-9][0-9][0-9]\),.*/\1/p' \
        "$source/../../src/diag/codes.h"); do
    grep -rqs "JR0$code" "$source/../unit" "$source/../schedulers" \
        "$source/../machines" "$source/../system" ||
        fail "no test of what is resolved or run expects JR0$code"
done

[ "$ran" -gt 0 ] || fail "no cases in $source"
echo "golden: $ran cases, $failed failures"
[ "$failed" -eq 0 ]
