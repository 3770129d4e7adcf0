# fish completion for jobrun. What is offered comes from jobrun itself, which is
# asked with the words of the line up to the cursor.

# Programs, as names or as paths; no builtins and functions.
function __jobrun_programs
    for offer in (complete -C "$argv[1]")
        set -l name (string split -m 1 \t -- $offer)[1]
        if string match -q '*/*' -- $name; or command -sq -- $name
            echo $offer
        end
    end
end

function __jobrun_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -e words[1]
    type -q $program; or return
    set -l lead (string match -r '^--[^=]*=' -- "$word")
    set -l path (string replace -- "$lead" '' "$word")
    for offer in ($program completion fish -- $words "$word" 2>/dev/null)
        set -l files
        switch $offer
            case @spec
                set files (__fish_complete_suffix "$path" .jobrun.yaml)
            case @file
                set files (__fish_complete_path "$path")
            case @folder
                set files (__fish_complete_directories "$path")
            case @command
                __jobrun_programs "$word"
            case @arguments
                set -l dashes (contains -i -- -- $words)
                set -e words[1..$dashes]
                complete -C (string join ' ' -- (string escape -- $words) "$word")
            case '*'
                echo $offer
        end
        for file in $files
            echo "$lead$file"
        end
    end
end

complete -c jobrun -f -a '(__jobrun_complete)'
