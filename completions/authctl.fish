# fish completion for authctl. It asks the authctl on the PATH for candidates.
# Install it in a folder of $fish_complete_path, such as /usr/share/fish/vendor_completions.d.

function __authctl_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l tab \t
    for line in (authctl __complete -- $words[2..-1] 2>/dev/null)
        set -l parts (string split $tab -- $line)
        if string match -q '~*' -- $parts[1]
            # Skip it: fish would insert it unquoted, as a home folder.
            continue
        else if test -n "$parts[1]"
            echo -- $line
        else if test "$parts[2]" = files
            set -l start "$parts[3]"
            set -l typed (string sub -s (math (string length -- "$start") + 1) -- $words[-1])
            # Not __fish_complete_path: its ls reads a file named -n as an option.
            for path in "$typed"*
                # Skip it: a tab or newline would begin a description or another candidate.
                string match -qr '[[:cntrl:]]|^~[^/]*$' -- $path; and continue
                test -d "$path"; and set path $path/
                echo -- $start$path
            end
        else if test "$parts[2]" = commands
            complete -C (commandline -ct)
        end
    end
end

complete -c authctl -f -a '(__authctl_complete)'
