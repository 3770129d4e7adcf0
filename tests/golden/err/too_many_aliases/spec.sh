printf "version: 1\nx-a: &a 1\nx-b:\n"
yes -- "- *a" | head -n 1001
