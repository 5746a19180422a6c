# Runs on a booted host with fettle installed: the service must see what fettle
# sees when an admin runs it, and tell of it.
exec > /result/log 2>&1
set -x
systemctl is-system-running --wait
fettle check --format json -o /result/direct.json
systemctl start fettle.service
echo "$?" > /result/started
fettle history > /result/history
fettle diff last /result/direct.json > /result/diff
echo "$?" > /result/differs
sleep 1
journalctl --no-pager -o cat MESSAGE_ID=f2b5d3b1c1d54d2f8a4c2b7a9e0d6c11 > /result/journal
systemctl start fettle.service # nothing changed: no second message
sleep 1
journalctl --no-pager -o cat MESSAGE_ID=f2b5d3b1c1d54d2f8a4c2b7a9e0d6c11 > /result/journal2
systemctl is-enabled fettle-snapshot.timer > /result/snapshots
systemctl start fettle-snapshot.service # sees what root sees
echo "$?" >> /result/snapshots
fettle after --snapshot 1 >> /result/snapshots
echo "$?" >> /result/snapshots
journalctl --no-pager -o cat -u fettle-snapshot.service > /result/snapshot
systemctl list-timers --no-pager fettle.timer > /result/timer
systemd-analyze security --no-pager fettle.service > /result/security
journalctl --no-pager -u fettle.service > /result/unit
sync
systemctl poweroff
