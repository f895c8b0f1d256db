#!/usr/bin/env bash
# Installs the programs that tests and the native infrastructure run, where they are missing and may be installed.
set -euo pipefail

missing=()
for program in redis-server kcat; do
  command -v "$program" >/dev/null || missing+=("$program")
done
# It comes with a server, which nobody else has to have: only CI proves the alert rules with it.
if [ -n "${CI:-}" ]; then
  command -v promtool >/dev/null || missing+=(prometheus)
  command -v jq >/dev/null || missing+=(jq)
fi
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "setup: ${missing[*]} missing; to have them: sudo apt-get install ${missing[*]} (or what your system has instead)"
  exit 0
fi
echo "setup: apt-get install ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq -y --no-install-recommends "${missing[@]}"
