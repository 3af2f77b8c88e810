# Sourced by the load scripts (EXTRA=this) after the C pmcd is up: starts our
# collector beside it, with the same name space and the same pipe agents.
#
# Wants GO_ROOT, the checkout; uses $T, the scratch directory of the run, and
# appends to S_NAME S_PORT S_SOCK S_PID and PIDS.
(cd "${GO_ROOT:?the checkout}" && CGO_ENABLED=0 go build -o "$T/gobench" ./internal/bench) || exit 1
grep -v ' dso ' "$T/pmcd.conf" | sed -e 's/\.log/-go.log/' >"$T/go.conf"
GO_PORT=${GO_PORT:-44970}
"$T/gobench" -p "$GO_PORT" -s "$T/go.sock" -n "$T/pmns" -c "$T/go.conf" 2>"$T/log/gobench.log" &
PIDS+=($!)
S_NAME+=(go); S_PORT+=("$GO_PORT"); S_SOCK+=("$T/go.sock"); S_PID+=($!)
for _ in $(seq 50); do
    (exec 3<>"/dev/tcp/127.0.0.1/$GO_PORT") 2>/dev/null && break
    sleep 0.1
done
