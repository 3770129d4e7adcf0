echo "version: 1"
echo "entrypoint: [./train]"
echo "extends:"
i=1
while [ $i -le 70 ]; do
    echo "  - base$i.yaml"
    echo "labels: {base: $i}" >base$i.yaml
    i=$((i + 1))
done
