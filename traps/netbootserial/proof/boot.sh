#!/bin/sh
# Boots the client over the network, takes the default entry of whatever menu is
# there by its keyboard, and says what came of Linux to its serial port. It has
# waited long enough when the installer's first question is on the screen: its
# first pixel is the dialog's blue then, in the 32 bits that qemu's card has. Asked
# on a port that nobody reads, it is on neither: from the initrd on it has three
# times as long as that took to be sent, and a minute, however busy the emulation.
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
exec 3<>$monitor # once: its driver refuses a second open (EBUSY)
cat <&3 >>"$told" &
trap 'echo stop >&3; kill $reader $!' EXIT
echo system_reset >&3
echo cont >&3
seen=no n=0 last=500
while [ $n -lt $last ] && [ $seen = no ]; do
	if grep -q 'Select a language' "$out"; then
		echo "the installer's first question"
		exit
	fi
	if ! grep -q 'sent .*initrd.gz' "$log"; then
		grep -q 'sent .*/linux ' "$log" || echo sendkey ret >&3
	else
		[ $last != 500 ] || last=$((n * 4 + 20))
		frame=$(sed -n '/VGA/,/BAR0/s/.*BAR0.* at \(0x[0-9a-f]*\) .*/\1/p' "$told" | tail -n 1)
		if [ -z "$frame" ]; then
			echo info pci >&3
		else
			echo "xp /1xw $frame" >&3
		fi
	fi
	sleep 3
	grep -q ': 0x000000aa' "$told" && seen=yes
	n=$((n + 1))
done
if ! grep -q 'sent .*initrd.gz' "$log"; then
	echo "the initrd was not asked for"
elif grep -q 'Linux version' "$out"; then
	echo "the kernel alone"
elif [ $seen = no ]; then
	echo "the installer's first question is not on the screen either"
else
	echo nothing
fi
