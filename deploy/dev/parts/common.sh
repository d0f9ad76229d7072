# What kafka, collector and s3 share: where things lie, free ports, processes that outlive the script.
# Sourced, never run. Downloads and builds lie in PLIMSOLL_DEV, what a run leaves (settings, data, logs) in
# PLIMSOLL_DEV_STATE, so that a machine keeps the first and each test has the second to itself.
set -euo pipefail

parts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
downloads=${PLIMSOLL_DEV:-$HOME/.cache/plimsoll-dev}
state=${PLIMSOLL_DEV_STATE:-$downloads/state}
mkdir -p "$downloads" "$state"
downloads=$(cd "$downloads" && pwd)
state=$(cd "$state" && pwd)

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# need TOOL WHAT_FOR...
need() {
  command -v "$1" >/dev/null || fail "$1 is not installed: it is needed ${*:2}"
}

# free_ports N: N ports on loopback that nothing listens on. They lie below the range from which the system gives
# ports to clients, so that a service which was killed finds its port free when it starts again.
free_ports() {
  local port
  local -A taken=()
  while [ "${#taken[@]}" -lt "$1" ]; do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || taken[$port]=
  done
  echo "${!taken[@]}"
}

# start FOLDER COMMAND...: a process of its own session, its output in FOLDER/log, its id in FOLDER/pid.
start() {
  local folder=$1
  shift
  if [ -f "$folder/log" ]; then mv "$folder/log" "$folder/log.before"; fi
  PLIMSOLL_DEV_SERVICE=$folder setsid "$@" >"$folder/log" 2>&1 </dev/null &
  echo $! >"$folder/pid"
  # Until the fork is the command.
  until running "$folder" || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
}

# running FOLDER: whether the process started there lives, and its id was not given to another since.
running() {
  local pid
  pid=$(cat "$1/pid" 2>/dev/null) || return 1
  grep -zqxF "PLIMSOLL_DEV_SERVICE=$1" "/proc/$pid/environ" 2>/dev/null
}

# wait_for FOLDER TEXT SECONDS: until the log says TEXT.
wait_for() {
  local deadline=$((SECONDS + $3))
  until grep -qF "$2" "$1/log" 2>/dev/null; do
    running "$1" || fail "it ended at once; $1/log ends with: $(tail -n 3 "$1/log")"
    [ "$SECONDS" -lt "$deadline" ] || fail "it was not ready within $3 s; see $1/log"
    sleep 0.1
  done
}

# stop FOLDER [SIGNAL]: ends the process and waits until it is gone.
stop() {
  local pid waited=0
  running "$1" || { rm -f "$1/pid"; return 0; }
  pid=$(cat "$1/pid")
  kill -"${2:-TERM}" "$pid"
  while running "$1"; do
    sleep 0.1
    waited=$((waited + 1))
    if [ "$waited" -eq 150 ]; then kill -KILL "$pid"; fi
  done
  rm -f "$1/pid"
}

# Prints KEY=VALUE lines of a service that is up; $1 is its folder.
print_env() {
  [ -f "$1/env" ] || fail "it is not up"
  cat "$1/env"
}

# Prints what a script says of itself at its top.
usage() {
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
  exit 2
}
