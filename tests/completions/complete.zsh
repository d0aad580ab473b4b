# Prints what zsh offers for a line that is being typed: complete.zsh FUNCTIONS LINE
zmodload zsh/zpty || exit 3
zpty shell zsh -f -i
say() { zpty -w shell "$1" }
say "fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D"
# What would be added is told instead; what only looks up what would be is left to do so.
say 'compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
    local -a hits; local hit
    builtin compadd -A hits "$@"
    for hit in $hits; do print -r -- "offered $hit"; done
}'
say "told() { zle complete-word; print -r -- 'that''s all' }; zle -N told; bindkey '^I' told"
say 'print -r -- re""ady'
while zpty -r shell line; do [[ $line == *ready* ]] && break; done
zpty -w -n shell "$2"$'\t'
while zpty -r shell line; do
    line=${line%$'\r\n'}
    [[ $line == *"offered "* ]] && print -r -- ${line##*offered }
    [[ $line == *"thats all"* ]] && break
done
zpty -d shell
