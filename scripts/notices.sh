#!/bin/sh
# Prints the licences and notices of what the program is linked with: their authors ask for that in every copy of it.
set -eu

tree=$(cargo tree --locked --package cohort-server --edges normal --prefix none --format '{p}|{l}')
sources=$(cargo metadata --locked --format-version 1 | tr ',' '\n' | sed -n 's/.*"manifest_path":"\(.*\)\/Cargo.toml"/\1/p')
echo "$tree" | sed 's/ (\*)$//' | sort -u | while IFS='|' read -r package licence; do
    case $package in cohort-*) continue ;; esac
    name=$(echo "${package%% (*}" | sed 's/ v/-/')
    folder=$(echo "$sources" | grep "/$name\$") || { echo "no sources of $package" >&2; exit 1; }
    printf '%s\n\n%s: %s\n\n' "================================================================" "$name" "$licence"
    find "$folder" -maxdepth 3 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'copyright*' \) |
        sort | while read -r file; do
        cat "$file"
        echo
    done
done
