# Runs on the loaded host once it is up: tells what fettle costs there, then ends the host.
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
trap 'sync; systemctl poweroff --force --force' EXIT
cd /var/lib/park || exit 1
systemctl is-system-running --wait >state 2>&1
/bin/bash -c '
	TIMEFORMAT="%U + %S"
	exec 2>cost
	echo "$(systemctl show -p Id "*" | grep -c Id=) units, $(ls -d /proc/[0-9]* | wc -l) processes" >&2
	fettle snapshot >/dev/null
	for verb in "before reboot" "before reboot --no-snapshot" snapshot "after --snapshot 1" "check sysctl-by-hand"; do
		echo "fettle $verb:" >&2
		for i in 1 2 3 4 5; do time fettle $verb >/dev/null; done
	done
'
