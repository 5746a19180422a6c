# Runs in a Debian root that is not booted: old.deb and new.deb of fettle and
# fettle-lab's lie in /packages.
set -ex
export DEBIAN_FRONTEND=noninteractive
wants=/etc/systemd/system/timers.target.wants/fettle.timer
cd /packages

dpkg -i old.deb
test "$(dpkg-query -W -f '${Version}' fettle)" = 0~0
/usr/bin/fettle version
test -L $wants
test -d /etc/fettle/traps.d
cmp /etc/fettle/fettle.yaml fettle.yaml
systemd-analyze verify --man=no /usr/lib/systemd/system/fettle.service /usr/lib/systemd/system/fettle.timer \
	/usr/lib/systemd/system/fettle-snapshot.service /usr/lib/systemd/system/fettle-snapshot.timer
bash -c '. /usr/share/bash-completion/bash_completion; . /usr/share/bash-completion/completions/fettle; complete -p fettle'
test -s /usr/share/man/man1/fettle-check.1.gz -o ! -e /usr/share/man/man1 # minimal images leave man pages out
status=0
/usr/bin/fettle check --record --notify -q || status=$?
test $status -le 4 -a $status -ne 2 || exit 1 # 3: no journal here
test -n "$(ls /var/lib/fettle/history)"

# What the admin decided survives an upgrade.
echo 'history: {keep: 7}' > /etc/fettle/fettle.yaml
systemctl disable fettle.timer
dpkg --force-confold -i new.deb
test "$(dpkg-query -W -f '${Version}' fettle)" != 0~0
grep -q 'keep: 7' /etc/fettle/fettle.yaml
test ! -e $wants
test -n "$(ls /var/lib/fettle/history)"

dpkg -i lab.deb
/usr/bin/fettle-lab --help > /dev/null
fettle lab --list > /dev/null
dpkg -P fettle-lab
test ! -e /usr/bin/fettle-lab

# Removed: the configuration and what was recorded stay.
dpkg -r fettle
test ! -e /usr/bin/fettle
test ! -e /usr/lib/systemd/system/fettle.service
grep -q 'keep: 7' /etc/fettle/fettle.yaml
test -n "$(ls /var/lib/fettle/history)"

# And back.
dpkg --force-confold -i new.deb
grep -q 'keep: 7' /etc/fettle/fettle.yaml

# Purged: nothing is left, but for the journal of changes.
mkdir -p /var/lib/fettle/changes /var/lib/fettle/packs /var/lib/fettle/hosts/web1/history /var/cache/fettle
touch /var/lib/fettle/changes/one /var/lib/fettle/packs/acme.pack /var/cache/fettle/rules.book /etc/fettle/pack-keys
touch /etc/systemd/system/fettle-after.service
dpkg -P fettle
test ! -e /etc/fettle
test ! -e /var/cache/fettle
test ! -e /var/lib/fettle/packs
test ! -e /var/lib/fettle/history
test ! -e /var/lib/fettle/hosts
test ! -e /etc/systemd/system/fettle-after.service
test -e /var/lib/fettle/changes/one
test ! -e $wants
rm -r /var/lib/fettle
find / -xdev -path /packages -prune -o -name '*fettle*' -print | grep -v '^/proc' > /tmp/left || true
cat /tmp/left
test ! -s /tmp/left

dpkg -i new.deb
test -L $wants
# A fix that had nothing to do leaves no reason to keep anything.
mkdir -p /var/lib/fettle/changes
touch /var/lib/fettle/lock /var/lib/fettle/nothing-mended.json
dpkg -P fettle
test ! -e /var/lib/fettle
