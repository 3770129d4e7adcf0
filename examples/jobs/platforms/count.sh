# Stands for a program: adds up the numbers of its share of 1 to 1000, and
# delivers the sum. $RANK and $WORLD_SIZE are from jobrun.
set -eu
sum=0 i=$RANK
while [ "$i" -lt 1000 ]; do
    i=$((i + WORLD_SIZE))
    sum=$((sum + i - WORLD_SIZE + 1))
done
echo "rank $RANK of $WORLD_SIZE: $sum"
printf '{"sum": %d, "world": %d, "device": "%s"}\n' \
    "$sum" "$WORLD_SIZE" "${TALLY_DEVICE:-none}" >"$JOBRUN_RESULT_FILE"
