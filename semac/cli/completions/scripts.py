"""The scripts that shells read. Each asks `sema completions --words WORD ...` and gets a line for each candidate:
kind, value and help, separated by tabs."""

BASH = """\
# Completion of sema for bash; written by: sema completions bash
_sema_completions() {
    local kind value help current="${COMP_WORDS[COMP_CWORD]}"
    COMPREPLY=()
    while IFS=$'\\t' read -r kind value help; do
        case $kind in
            file) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current") ;;
            dir) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current") ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(sema completions --words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o filenames -F _sema_completions sema
"""
ZSH = """\
#compdef sema
# Completion of sema for zsh; written by: sema completions zsh
_sema() {
    local kind value help
    local -a plain
    local files=
    while IFS=$'\\t' read -r kind value help; do
        case $kind in
            file|dir) files=1 ;;
            plain) plain+=("${value//:/\\\\:}${help:+:$help}") ;;
        esac
    done < <(sema completions --words "${(@)words[2,$CURRENT]}" 2>/dev/null)
    (( $#plain )) && _describe -V sema plain
    [[ -n $files ]] && _files
}
compdef _sema sema
"""
FISH = """\
# Completion of sema for fish; written by: sema completions fish
function __sema_completions
    set -l words (commandline -opc) (commandline -ct)
    sema completions --words $words[2..-1] 2>/dev/null | while read -l -d \\t kind value help
        switch $kind
            case file dir
                __fish_complete_path (commandline -ct)
            case plain
                printf '%s\\t%s\\n' $value $help
        end
    end
end
complete -c sema -f -a '(__sema_completions)'
"""
ELVISH = """\
# Completion of sema for elvish; written by: sema completions elvish
use str
set edit:completion:arg-completer[sema] = {|@words|
    e:sema completions --words (all $words[1..]) 2>/dev/null | from-lines | each {|line|
        var kind value help = (str:split "\t" $line)
        if (not-eq $kind plain) {
            edit:complete-filename $words[-1]
        } elif (eq $help '') {
            put $value
        } else {
            edit:complex-candidate $value &display=$value' ('$help')'
        }
    }
}
"""
POWERSHELL = """\
# Completion of sema for PowerShell; written by: sema completions powershell
Register-ArgumentCompleter -Native -CommandName sema -ScriptBlock {
    param($typed, $command, $cursor)
    $words = @($command.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    if ($typed -eq '') { $words += '' }
    foreach ($line in (& sema completions --words @words 2>$null)) {
        $kind, $value, $help = $line -split "`t", 3
        if ($kind -ne 'plain') {
            [System.Management.Automation.CompletionCompleters]::CompleteFilename($typed)
        } else {
            $tip = if ($help) { $help } else { $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $tip)
        }
    }
}
"""
# shell → (its script, where it looks for it below the home directory)
SCRIPTS: dict[str, tuple[str, str | None]] = {
    "bash": (BASH, ".local/share/bash-completion/completions/sema"),
    "zsh": (ZSH, ".zsh/completions/_sema"),
    "fish": (FISH, ".config/fish/completions/sema.fish"),
    "elvish": (ELVISH, ".config/elvish/lib/sema.elv"),
    "powershell": (POWERSHELL, None),
}
