# A session with curl alone: create, post, watch, answer a permission, kill -9 the daemon in mid-turn, start it
# again, read every event, send the next message. Waits for events only, never for time.
#
# usage: bash walk.sh OMNIGLOT, in an empty directory; leaves there:
#   seen    every event that the watcher got before the daemon died, one JSON line each
#   after   the log as it was read after the restart
#   events  the log at the end
set -euo pipefail
omniglot=$1
export OMNIGLOT_HOME=$PWD/data
daemon= watcher=
trap 'for pid in $daemon $watcher; do kill "$pid" 2>/dev/null || true; done' EXIT

serve() {
    exec 4< <(exec "$omniglot" serve --port 0 2>>log)
    daemon=$!
    read -r -t 30 -u 4 line
    url=$(grep -o 'http://[^ ]*' <<<"$line")
    auth="Authorization: Bearer $(<data/private/token)"
}

call() {
    local path=$1
    shift
    curl --silent --show-error --fail --max-time 30 --header "$auth" "$@" "$url/v1/sessions/walk$path"
}

post() {
    call "$1" --header 'Content-Type: application/json' --data "$2"
}

# Watches the session in the background, from the event after $1.
watch() {
    exec 3< <(exec curl --silent --no-buffer --header "$auth" "$url/v1/sessions/walk/events/sse?offset=$1")
    watcher=$!
}

# Reads what the watcher gets up to the first event that has the words; that event is $event.
wait_for() {
    while read -r -t 30 -u 3 line; do
        [[ $line == 'data: {"event_id"'* ]] || continue
        event=${line#data: }
        printf '%s\n' "$event" >>"$seen"
        [[ $event != *"$1"* ]] || return 0
    done
    echo "the stream ended before $1" >&2
    return 1
}

serve
post '' '{"agent":"mock"}' >created
seen=seen
watch 0
post /messages '{"message":"[[permission]]"}'
wait_for '"type":"permission.requested"'
permission=$(grep -o '"permission_id":"[^"]*"' <<<"$event" | cut -d '"' -f 4)
post "/permissions/$permission/reply" '{"reply":"once"}'
wait_for '"type":"turn.ended"'
post /messages '{"message":"[[text:5]] [[silence]]"}'
wait_for '"type":"item.delta"'

kill -9 "$daemon"
wait "$daemon" || true
wait "$watcher" || true
serve

call '/events?limit=10000' >after
seen=later
watch "$(wc -l <seen)"
wait_for '"code":"daemon_restarted"'
post /messages '{"message":"[[recall]]"}'
wait_for '"stop_reason":"end_turn"'
call '/events?limit=10000' >events
kill -TERM "$daemon"
wait "$daemon"
