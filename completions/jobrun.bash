# bash completion for jobrun. What is offered comes from jobrun itself, which is
# asked with the words of the line up to the cursor.

_jobrun_files() {
    local word=$1
    compopt -o filenames 2>/dev/null
    shift
    local IFS=$'\n'
    # shellcheck disable=SC2207
    COMPREPLY+=($(compgen "$@" -- "$word"))
}

# Programs, as names or as paths; no builtins and functions.
_jobrun_programs() {
    local name
    if [[ $1 == */* ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r name; do
            [[ -d $name || -x $name ]] && COMPREPLY+=("$name")
        done < <(compgen -f -- "$1")
        return
    fi
    while IFS= read -r name; do
        type -P -- "$name" >/dev/null && COMPREPLY+=("$name")
    done < <(compgen -c -- "$1" | sort -u)
}

# The words behind "--" by the completion of their command, if there is one.
_jobrun_arguments() {
    local at
    if declare -F _command_offset >/dev/null; then
        for ((at = 1; at < ${#COMP_WORDS[@]}; at++)); do
            [[ ${COMP_WORDS[at]} == -- ]] && break
        done
        _command_offset $((at + 1))
        return
    fi
    _jobrun_files "$1" -f
}

_jobrun() {
    local -a words
    local cur offer lead='' breaks=${COMP_WORDBREAKS//[^=:]/}
    read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} == *[[:blank:]] ]] && words+=('')
    cur=${words[-1]}
    # Only what follows the last such character is replaced.
    [[ $breaks && $cur == *[$breaks]* ]] && lead=${cur%"${cur##*[$breaks]}"}
    COMPREPLY=()
    while IFS=$'\t' read -r offer _; do
        case $offer in
        @spec)
            _jobrun_files "${cur#"$lead"}" -f -X '!*.jobrun.yaml'
            [[ ${COMPREPLY[*]} ]] ||
                _jobrun_files "${cur#"$lead"}" -f -X '!*.yaml'
            _jobrun_files "${cur#"$lead"}" -d
            ;;
        @file) _jobrun_files "${cur#"$lead"}" -f ;;
        @folder) _jobrun_files "${cur#"$lead"}" -d ;;
        @command) _jobrun_programs "$cur" ;;
        @arguments) _jobrun_arguments "${cur#"$lead"}" ;;
        *) COMPREPLY+=("${offer#"$lead"}") ;;
        esac
    done < <("${words[0]/#\~/$HOME}" completion bash -- "${words[@]:1}" \
        2>/dev/null)
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}

complete -F _jobrun jobrun
