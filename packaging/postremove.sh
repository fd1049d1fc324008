#!/bin/sh
# The settings, the master key and the data stay: without the key nobody can read the data's secrets.
[ ! -d /run/systemd/system ] || systemctl daemon-reload
