# Runs on a booted host: NAME-old.deb and NAME-new.deb of all programs lie in /packages.
exec > /result/log 2>&1
set -x
systemctl is-system-running --wait
cd /packages || exit
until_so() { # until_so COMMAND...: it succeeds within a while
	for _ in $(seq 90); do
		"$@" && return
		sleep 1
	done
	return 1
}
lately() { fettle-hub hosts | grep -Eq ' 1?[0-9] ?s ago'; }
answers() { # answers NAME: the hub and its agent understand each other
	sleep 20 # nothing from before is recent
	until_so fettle-hub ask --all && until_so lately
	echo "$?" > "/result/$1"
	fettle-hub hosts
}

dpkg -i ./*-old.deb
echo "$?" > /result/installed
echo 'history: {keep: 7}' > /etc/fettle/fettle.yaml
systemctl enable --now fettle-hub
until_so test -e /var/lib/fettle-hub/hub.json
fettle-agent join "$(fettle-hub invite --uses 1 --group web | tr ' ' '\n' | grep '^fettle1:')"
echo "$?" > /result/joined
systemctl enable --now fettle-agent
fettle snapshot
answers one

# One of them, with the fettle that the agent starts; then the others.
first=$(cat /result/first)
dpkg --force-confold -i "$first-new.deb"
[ "$first" = fettle-hub ] || dpkg --force-confold -i fettle-new.deb
answers two
dpkg --force-confold -i ./*-new.deb
answers three
dpkg-query -W 'fettle*'

fettle after --snapshot last # as the version before saved it
status=$?
[ $status -gt 1 ] || status=0
echo "$status" > /result/after
cat /etc/fettle/fettle.yaml > /result/kept
fettle-hub hosts > /result/hosts
systemctl is-active fettle-hub fettle-agent fettle.timer > /result/active
journalctl --no-pager -o cat -u fettle-hub -u fettle-agent > /result/units
systemctl --failed --no-legend > /result/failed
sync
systemctl poweroff
