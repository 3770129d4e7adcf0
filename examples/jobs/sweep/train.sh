# Stands in for a program that trains: reads its options, writes its result.
lr= steps= shard= verbose=
for option; do
    case $option in
    --lr=*) lr=${option#*=} ;;
    --steps=*) steps=${option#*=} ;;
    --shard=*) shard=${option#*=} ;;
    --verbose) verbose=1 ;;
    *) echo "unknown option $option" >&2; exit 2 ;;
    esac
done
[ -z "$verbose" ] || echo "$ROLE: lr $lr, $steps steps, tag ${TAG-unset}"
awk -v lr="$lr" -v steps="$steps" -v shard="$shard" 'BEGIN {
    loss = 3
    for (i = 0; i < steps; i++)
        loss -= lr * loss
    printf "{\"loss\": %.6f, \"shard\": \"%s\"}\n", loss, shard
}' > "$JOBRUN_RESULT_FILE"
