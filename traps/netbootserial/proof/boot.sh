#!/bin/sh
# Boots the client over the network, takes the default entry of whatever menu is
# there by its keyboard, and says what came of Linux to its serial port. It has
# waited long enough when the client, its initrd loaded, has nothing to do any more.
log=/var/log/dnsmasq.log out=/tmp/serial told=/tmp/monitor
serial=/dev/vport0p1 monitor=/dev/vport0p2
if [ ! -c $serial ] || [ ! -c $monitor ]; then
	echo "no client is wired to this machine"
	exit 1
fi
: >"$log"
: >"$out"
: >"$told"
cat $serial >>"$out" &
reader=$!
cat <$monitor >>"$told" &
trap 'kill $reader $!' EXIT
echo system_reset >$monitor
echo cont >$monitor
idle=0 n=0
while [ $n -lt 1500 ] && [ $idle -lt 12 ]; do
	if grep -q 'Select a language' "$out"; then
		echo "the installer's first question"
		exit
	fi
	if grep -q 'sent .*initrd.gz' "$log"; then
		: >"$told"
		echo info registers >$monitor
	elif [ $((n % 5)) = 0 ] && ! grep -q 'sent .*/linux ' "$log"; then
		echo sendkey ret >$monitor
	fi
	sleep 1
	if grep -q 'HLT=1' "$told"; then
		idle=$((idle + 1))
	else
		idle=0
	fi
	n=$((n + 1))
done
if ! grep -q 'sent .*initrd.gz' "$log"; then
	echo "the initrd was not asked for"
elif grep -q 'Linux version' "$out"; then
	echo "the kernel alone"
elif [ $idle = 0 ]; then
	echo "the client is still at work"
else
	echo nothing
fi
