# Runs on a booted host that is to be the hub: types what docs/hub.md says, line by line.
exec > /result/log 2>&1
set -x
systemctl is-system-running --wait
cd /root || exit
status=0
while IFS= read -r line; do
	case $line in
	*"users add"*) echo 'seventeen green herons' | sh -c "$line" ;;
	*) sh -c "$line" < /dev/null ;;
	esac || status=$?
	[ $status = 0 ] || break
done < /result/lines
echo "$status" > /result/typed
if [ $status = 0 ]; then
	echo yes > /result/serves
	sh -c "$(cat /result/invite)" > /result/invitation
fi
for _ in $(seq 180); do
	if [ "$status" != 0 ] || [ -e /result/end ]; then break; fi
	sleep 1
done
fettle-hub hosts > /result/hosts
grep -q ' web ' /result/hosts
echo "$?" > /result/listed
systemctl is-active fettle-hub fettle-hub-web.socket > /result/active
journalctl --no-pager -o cat -u fettle-hub -u fettle-hub-web.socket > /result/units
systemctl --failed --no-legend > /result/failed
sync
systemctl poweroff
