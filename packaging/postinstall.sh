#!/bin/sh
# Creates the master key if there is none. The package neither starts a venue nor restarts one: a
# new version runs from the next restart of the unit.
set -e
if [ ! -e /etc/dx/master.key ]; then
	(umask 077 && od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n' >/etc/dx/master.key)
fi
[ ! -d /run/systemd/system ] || systemctl daemon-reload
