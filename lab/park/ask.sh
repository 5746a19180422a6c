# Runs on a host of the park once it is up: has fettle and sos look at it, then
# ends it. What they say is left in /var/lib/park.
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
trap 'sync; systemctl poweroff --force --force' EXIT
cd /var/lib/park || exit 1
lib=/usr/local/lib/park

systemctl is-system-running --wait >state 2>&1
systemctl list-units --failed --plain --no-legend >failed 2>&1
sh -ex $lib/begin >begin.log 2>&1
echo $? >begin.status
# What the captures are compared with comes right before them.
fettle check --limit 2m --format json >live.json 2>live.err
fettle capture --limit 2m -o host.tar.zst >capture.log 2>&1
fettle capture --limit 2m --redact -o redacted.tar.zst >>capture.log 2>&1
fettle check --limit 2m -v >live.txt 2>&1
fettle check --limit 2m >screen.txt 2>&1
journalctl -b --no-pager >journal.txt 2>&1
if [ -s $lib/inside ]; then
	sh $lib/inside >inside.json 2>inside.err
fi
if [ ! -e /proc/exitcode ]; then # sos takes minutes under User-Mode Linux
	mkdir sos && sos report --batch --quiet --build --tmp-dir "$PWD/sos" >sos.log 2>&1
fi
