# Runs each time that a host which is upgraded has started. What it does is in
# /usr/local/lib/park/phase; what it saw is left in /var/lib/park.
export PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1
trap 'systemctl poweroff --no-block' EXIT
cd /var/lib/park || exit 1
lib=/usr/local/lib/park

# each runs a script of every case that has it: each KIND TO [FILTER].
each() {
	mkdir -p "$2"
	for c in $lib/cases/*; do
		[ -s "$c/$1" ] && { [ -z "$3" ] || [ -e "$c/$3" ]; } || continue
		n=0
		while :; do
			(cd / && exec timeout 90 sh -e $opt "$c/$1") >"$2/${c##*/}.log" 2>&1 </dev/null
			rc=$?
			n=$((n + 1))
			[ $rc = 0 ] || [ "$1" != works ] || [ $n = 3 ] && break
			sleep 5
		done
		echo $rc >"$2/${c##*/}.status"
	done
}

timeout 300 systemctl is-system-running --wait >state 2>&1
case $(cat $lib/phase) in
prepare)
	opt=-x
	each prepare prepared
	[ ! -e $lib/mended ] || each mend mended
	;;
upgrade)
	systemctl list-units --failed --plain --no-legend >failed.before 2>&1
	each works before
	fettle before upgrade --format json >told.json 2>told.err
	fettle before upgrade >told.txt 2>&1
	fettle capture --limit 2m -o before.tar.zst >capture.log 2>&1
	fettle snapshot >snapshot.log 2>&1
	sed -i 's/bookworm/trixie/g' /etc/apt/sources.list
	rm -rf /var/lib/apt/lists && mv lists /var/lib/apt/lists
	mkdir -p sources
	each works sources sources
	each mend unblocked sources
	run() { apt-get -y --no-download -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold -o Dpkg::Options::=--force-unsafe-io full-upgrade; }
	run >upgrade.log 2>&1
	echo $? >upgrade.status
	if [ "$(cat upgrade.status)" != 0 ]; then
		dpkg --configure -a >>upgrade.log 2>&1
		run >upgrade2.log 2>&1
		echo $? >upgrade2.status
	fi
	[ ! -e $lib/mended ] || { opt=-x; each after aftermath; }
	;;
after)
	systemctl list-units --failed --plain --no-legend >failed.after 2>&1
	each works after
	fettle after >after.txt 2>&1
	journalctl -b --no-pager >journal.txt 2>&1
	;;
esac
