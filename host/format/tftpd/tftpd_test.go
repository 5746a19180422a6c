package tftpd

import (
	"fmt"
	"strings"
	"testing"

	"fettle/host/hosttest"
)

func TestRoots(t *testing.T) {
	h := hosttest.New(t, `
-- root/etc/dnsmasq.conf --
# tftp-root=/never
enable-tftp
conf-dir=/etc/more,*.conf
-- root/etc/more/a.conf --
tftp-root=/srv/pxe # ours
tftp-root="/srv/with space",eth1
-- root/etc/more/b.old --
tftp-root=/srv/old
-- root/etc/dnsmasq.d/net.dpkg-old --
tftp-root=/srv/older
-- root/etc/dnsmasq.d/loop --
conf-file=/etc/dnsmasq.d/loop
-- root/var/lib/libvirt/dnsmasq/default.conf --
tftp-root=/var/lib/libvirt/not-served
-- root/var/lib/libvirt/dnsmasq/boot.conf --
enable-tftp
tftp-root=/var/lib/tftp
-- root/etc/default/tftpd-hpa --
# /etc/default/tftpd-hpa

TFTP_USERNAME="tftp"
TFTP_DIRECTORY="/srv/tftp/"
TFTP_OPTIONS="--secure"
-- root/etc/default/atftpd --
USE_INETD=false
OPTIONS="--tftpd-timeout 300 --maxthread 100 /srv/atftp"
-- root/etc/inetd.conf --
#tftp	dgram	udp	wait	root	/usr/sbin/in.tftpd	in.tftpd -s /off
tftp	dgram	udp4	wait	nobody	/usr/sbin/tcpd	/usr/sbin/in.tftpd --secure /srv/inetd
-- root/usr/lib/systemd/system/tftp.service --
[Service]
ExecStart=/usr/sbin/in.tftpd -s /var/lib/tftpboot
-- denied/etc/xinetd.d/tftp --
`)
	roots, unread := Roots(t.Context(), h)
	var got []string
	for _, r := range roots {
		got = append(got, fmt.Sprint(r.Path, " ", r.Server, " ", r.From))
	}
	want := `/srv/pxe dnsmasq /etc/more/a.conf:1
/srv/with space dnsmasq /etc/more/a.conf:2
/var/lib/tftp dnsmasq /var/lib/libvirt/dnsmasq/boot.conf:2
/srv/tftp tftpd-hpa /etc/default/tftpd-hpa:4
/srv/atftp atftpd /etc/default/atftpd:2
/srv/inetd tftpd-hpa /etc/inetd.conf:2
/var/lib/tftpboot tftpd-hpa /usr/lib/systemd/system/tftp.service:2`
	if strings.Join(got, "\n") != want {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), want)
	}
	if len(unread) != 1 || !strings.Contains(unread[0].Error(), "/etc/xinetd.d/tftp") {
		t.Errorf("unread: %v", unread)
	}
}

func TestNoServer(t *testing.T) {
	roots, unread := Roots(t.Context(), hosttest.New(t, "-- root/etc/dnsmasq.conf --\ntftp-root=/srv/tftp\n"))
	if len(roots)+len(unread) != 0 {
		t.Error("dnsmasq without enable-tftp serves no TFTP:", roots, unread)
	}
}
