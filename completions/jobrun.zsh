#compdef jobrun
# zsh completion for jobrun. What is offered comes from jobrun itself, which is
# asked with the words of the line up to the cursor.

_jobrun() {
    local -a offers whole open
    local offer word help
    local -i dashes
    offers=("${(@f)$("${${(Q)words[1]}/#\~/$HOME}" completion zsh -- \
        "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    for offer in $offers; do
        word=${offer%%$'\t'*} help=${offer#*$'\t'}
        case $word in
        @*) ;;
        *=) open+=("${word//:/\\:}:$help") ;;
        *) whole+=("${word//:/\\:}:$help") ;;
        esac
    done
    (( $#whole )) && _describe -t words 'jobrun' whole
    (( $#open )) && _describe -t fields 'field' open -S ''
    if (( $offers[(I)@command] || $offers[(I)@arguments] )); then
        # What stands behind "--" is a command line of its own.
        dashes=${words[(i)--]}
        words=("${(@)words[dashes+1,-1]}")
        (( CURRENT -= dashes ))
        _normal -p jobrun
        return
    fi
    (( $offers[(I)@*] )) && compset -P '--*='
    (( $offers[(I)@spec] )) && _files -g '*.jobrun.yaml(-.)'
    (( $offers[(I)@file] )) && _files
    (( $offers[(I)@folder] )) && _files -/
    return 0
}

if [[ $funcstack[1] == _jobrun ]]; then
    _jobrun "$@"
else
    compdef _jobrun jobrun
fi
