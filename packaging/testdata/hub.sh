# Runs on a booted host with fettle-hub and fettle-agent installed: the services
# start, the host joins, is asked, and the hub is restored from a backup.
exec > /result/log 2>&1
set -x
systemctl is-system-running --wait
state=/var/lib/fettle-hub
until_so() { # until_so COMMAND...: it succeeds within a while
	for _ in $(seq 60); do
		"$@" && return
		sleep 1
	done
	return 1
}
checked() { fettle-hub hosts | awk 'NR > 1 && $4 + $5 + $6 + $7 > 0 { n++ } END { exit !n }'; }
lately() { fettle-hub hosts | grep -Eq ' 1?[0-9] ?s ago'; }

systemctl is-enabled fettle-hub fettle-agent > /result/enabled
systemctl enable --now fettle-hub
until_so test -e $state/hub.json
invite=$(fettle-hub invite --uses 1 --group web)
fettle-agent join "$invite"
echo "$?" > /result/joined
systemctl enable --now fettle-agent
until_so checked
echo "$?" > /result/checked
fettle-hub hosts > /result/hosts
fettle-hub users list > /result/users
systemctl is-active fettle-hub fettle-agent > /result/active
stat -c '%U %a' -L $state $state/hub.db $state/nats-keys.json > /result/modes
ss -Hltn > /result/listening 2>&1

# From a backup that root made, in an empty folder, by root.
fettle-hub backup /root/backup
systemctl stop fettle-hub
cp $state/revoked.txt /root/revoked.txt
find $state/ -mindepth 1 -delete
fettle-hub restore /root/backup --revoked /root/revoked.txt
echo "$?" > /result/restored
sleep 25
fettle-hub hosts
systemctl start fettle-hub
systemctl restart fettle-agent
until_so lately
echo "$?" > /result/again
fettle-hub hosts > /result/hosts2
fettle-hub ask --all
echo "$?" > /result/asked

systemd-analyze security --no-pager fettle-hub.service > /result/security-hub
systemd-analyze security --no-pager fettle-agent.service > /result/security-agent
journalctl --no-pager -o cat -u fettle-hub -u fettle-agent > /result/units
systemctl --failed --no-legend > /result/failed
sync
systemctl poweroff
