echo "version: 1"
echo "entrypoint: [./train]"
echo "vars:"
i=0
while [ $i -lt 100 ]; do
    echo "  v$i: \${vars.v$((i + 1))}"
    i=$((i + 1))
done
echo "  v100: 1"
