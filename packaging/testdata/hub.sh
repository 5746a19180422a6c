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
# A packet filter, and root who takes the hub's packs.
nft -f - << 'RULES'
table inet shop {
	chain input {
		type filter hook input priority 0; policy accept;
		tcp dport 8081 accept
	}
}
RULES
ssh-keygen -q -t ed25519 -N '' -f /root/key
echo "ops@example.org $(cut -d' ' -f1,2 /root/key.pub)" > /etc/fettle/pack-keys
echo 'FETTLE_AGENT_FLAGS=--packs' > /etc/default/fettle-agent
systemctl enable --now fettle-agent
until_so checked
echo "$?" > /result/checked
fettle-hub hosts > /result/hosts
fettle-hub users list > /result/users
systemctl is-active fettle-hub fettle-agent > /result/active
stat -c '%U %a' -L $state $state/hub.db $state/nats-keys.json > /result/modes
ss -Hltn > /result/listening 2>&1
until_so sh -c 'ls /var/lib/fettle/snapshots/*'
echo "$?" > /result/snapshot
nft delete table inet shop # which a snapshot without it would not miss
fettle after --snapshot 1 | grep -q 'inet shop'
echo "$?" > /result/firewall
cd /root && fettle pack new acme && fettle pack build acme --key key && fettle-hub pack offer acme-1.pack --canary web
echo "$?" > /result/offered
fettle-hub ask --all # with its next report
until_so test -e /var/lib/fettle/packs/acme.highest
echo "$?" > /result/taken

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
