#!/bin/sh
# Reads all menus as somebody with Debian's own beside them would: whether each entry names the
# serial port, before and after "---", and whether anything but consoles was changed.
from=/usr/lib/debian-installer/images/12/amd64/text/debian-installer/amd64
tree=/srv/tftp/debian-installer/amd64
without() {
	sed -e '/^serial /d' -e '/^ *terminal_/d' -e 's/ vga=[0-9]*//' -e 's/ console=[^ ]*//g' -e 's/ *$//' "$1"
}
named=0 silent=0 ports=0
for f in "$from"/boot-screens/*.cfg "$from"/grub/grub.cfg; do
	f=${f#"$from"/}
	if [ "$(without "$from/$f")" != "$(without "$tree/$f")" ]; then
		echo "$f says something else"
		exit
	fi
	named=$((named + $(grep -c -E '^\s*(append|linux) .* console=ttyS1,115200n8 --- (.* )?console=ttyS1,115200n8$' "$tree/$f")))
	silent=$((silent + $(grep -E '^\s*(append|linux) .* ---' "$tree/$f" | grep -c -v 'console=ttyS1')))
	ports=$((ports + $(grep -c -E '^serial (1 115200$|--unit=1 --speed=115200 )|^ *terminal_(in|out)put serial console$' "$tree/$f")))
done
all=$(sed -n '/^[[:space:]]*append .* ---/p; /^[[:space:]]*linux .* ---/p' "$from"/boot-screens/*.cfg "$from"/grub/grub.cfg | grep -c .)
if [ $named -eq 0 ] && [ $silent -eq "$all" ]; then
	echo "no entry names ttyS1"
elif [ $named -eq "$all" ] && [ $silent -eq 0 ]; then
	echo "all entries name ttyS1, $ports lines set it up"
else
	echo "$named of $all entries name ttyS1 twice"
fi
