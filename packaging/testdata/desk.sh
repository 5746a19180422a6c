# Runs on a booted host in the hub's network: ann's desk, which joins as a host, too.
exec > /result/log 2>&1
set -x
trap 'sync; systemctl poweroff' EXIT
systemctl is-system-running --wait
cd /root || exit
until_so() { # until_so COMMAND...: it succeeds within a while
	for _ in $(seq 120); do
		"$@" && return
		sleep 1
	done
	return 1
}
until_so test -s /result/serves || exit
page() { curl -sS --cacert hub.crt -b jar -c jar "$@"; }
login() { # login PASSWORD: as the form of the log-in page does it
	page https://hub.example.org/login > form.html
	token=$(sed -n 's/.*name="form" value="\([^"]*\)".*/\1/p' form.html | head -n 1)
	page -o answer.html -w '%{http_code}\n' -d form="$token" -d name=ann --data-urlencode password="$1" https://hub.example.org/login
}
until_so page -o /dev/null https://hub.example.org/
login 'eighteen green herons' > /result/refused
login 'seventeen green herons' > /result/in
page https://hub.example.org/ > /result/page

apt install ./fettle_*.deb ./fettle-agent_*.deb
until_so test -s /result/invitation || exit
# The document's lines, with the invitation that the hub printed.
invitation=$(tr ' ' '\n' < /result/invitation | grep '^fettle1:')
sed "s|fettle1:…|$invitation|" /result/join > lines
sh -ex lines
echo "$?" > /result/joined
sleep 15 # it checks, and the hub stores that
journalctl --no-pager -o cat -u fettle-agent
systemctl --failed --no-legend > /result/failed
echo yes > /result/end
