# Runs at each start of a host whose agent joins a hub elsewhere: at the first start something is
# made by hand, then the host is restarted; at the second one the agent tells what is missing.
exec >> /result/log 2>&1
set -x
until_so() { # until_so COMMAND...: it succeeds within a while
	for _ in $(seq 90); do
		"$@" && return
		sleep 1
	done
	return 1
}
if [ ! -e /result/restarting ]; then
	fettle-agent join "$(cat /result/invite)"
	echo "$?" > /result/joined
	systemctl enable --now fettle-agent
	printf '[Service]\nExecStart=/usr/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n' > /etc/systemd/system/shop.service
	systemctl start shop.service # by hand: nothing enables it
	until_so test -e /var/lib/fettle/snapshots
	fettle snapshot
	touch /result/restarting
	sync
	systemctl reboot
	exit
fi
until_so grep -q shop.service /var/lib/fettle-agent/started.json
echo "$?" > /result/told
until_so test -e /result/seen # by the hub
systemctl start shop.service
systemctl restart fettle-agent # which checks, and remembers
until_so sh -c '! grep -q shop.service /var/lib/fettle-agent/started.json'
echo "$?" > /result/mended
systemctl --failed --no-legend > /result/failed
until_so test -e /result/end
journalctl --no-pager -o cat -u fettle-agent > /result/agent
sync
systemctl poweroff
