# Runs at each of two starts of a host: asks before the restart, and compares after it.
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
cd /var/lib/park || exit 1
systemctl is-system-running --wait >state 2>&1
if [ ! -e before ]; then
	sh -ex /usr/local/lib/park/begin >begin.log 2>&1
	fettle before reboot --limit 2m >before 2>&1
	echo "status $?" >>before
	sync
	systemctl reboot
	exit
fi
fettle after --wait 2m >after 2>&1
echo "status $?" >>after
sync
systemctl poweroff
