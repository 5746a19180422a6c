#!/bin/sh
# Boots nothing, and asks as a client and as its installer would: which kernel does
# TFTP hand out, and has the mirror modules for it?
rm -f /tmp/kernel
busybox tftp -b 1400 -g -r debian-installer/amd64/linux -l /tmp/kernel 127.0.0.1
release=$(grep -ao '6\.1\.0-[0-9]*-amd64' /tmp/kernel | head -n 1)
busybox wget -q -O - http://127.0.0.1/debian/dists/bookworm/main/debian-installer/binary-amd64/Packages.xz |
	xz -dc | grep -c "^Kernel-Version: $release$"
