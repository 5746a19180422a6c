package why

import (
	"strings"
	"sync"
)

// senses are what admins say in many words, more of them and finer than the concepts of
// asks: the learned weights count each beside the words themselves, so that a word that
// no text had before speaks through its sense. A line each, its name first; a dash joins
// words that follow each other.
const thesaurus = `
hang hang hangs hanging hung stuck freeze freezes frozen stall stalls block blocks blocked unresponsive lock-up locks-up lockup sits does-not-respond not-responding doesn't-react
slow slow slowly slower sluggish crawl crawls crawling lag lags laggy forever ages snail speed throughput performance degraded degrade takes-long takes-ages
wait wait waits waiting delay delays delayed pause pauses seconds minutes late timeout timeouts timed-out
longtime minutes minute seconds ages forever hours
fail fail fails failed failing failure error errors broken breaks broke abort aborts aborted crash crashes crashed dies died die
refuse refuse refused refuses reject rejected rejects deny denied denies not-allowed forbidden permission-denied
vm vm vms guest guests kvm qemu libvirt virt virtual-machine virtual-machines virsh proxmox pve hypervisor domu xen vmware esxi hyperv instance instances droplet ec2
container container containers docker podman lxc lxd incus pod pods k8s kubernetes nspawn dockerd containerd compose k3s kind
disk disk disks drive drives hdd ssd nvme harddisk hard-disk hard-drive platter volume
ssd ssd ssds nvme flash
raid raid raid1 raid5 raid6 raid10 md mdadm mdstat array mirror md0 md1 md2 md127 software-raid
zfs zfs zpool vdev vdevs raidz zvol openzfs pool
share nfs nas cifs smb samba filer netapp share export
mount mount mounts mounted unmounted mountpoint fstab umount
boot boot boots booted booting startup start-up bootup starts-up
reboot reboot rebooted reboots restart restarted restarts power-cycle powercycle reset
emergency emergency maintenance rescue control-d ctrl-d root-shell
full full fills filled filling filled-up out-of-space no-space enospc exhausted no-room
grow grow grows grew growing huge gigantic enormous gigabytes gb big larger unbounded eats eating ate
free free freed reclaim reclaimed released space room
delete delete deleted remove removed rm rmed erased threw-away thrown cleaned cleanup purge purged unlinked wiped
gone gone vanish vanished vanishes disappear disappears disappeared lost loses missing dropped wiped
log log logs logfile logfiles syslog journal journald journalctl messages kern.log logging
rotate rotate rotated rotates rotation logrotate
cert cert certs certificate certificates ssl tls x509 https
expire expire expired expires expiry expiration ran-out out-of-date outdated no-longer-valid valid-until notafter not-after
renew renew renewal renewed renews certbot acme letsencrypt let-s-encrypt
network network net connectivity internet lan offline online
connect connect connection connections connecting connects session sessions socket sockets
drop drop drops dropped dropping loss lose lost discards
packet packet packets frame frames traffic
dns dns resolve resolves resolver resolving resolution nameserver nameservers lookup lookups hostname name-server resolv resolved
clock clock time date hour hours timestamp timestamps
sync sync synced synchronised synchronized synchronisation synchronization ntp chrony chronyd ntpd timesyncd timedatectl sntp
drift drift drifts drifting skew off ahead behind jumps stepped
memory memory ram mem
swap swap swaps swapped swapping kswapd kswapd0 paging thrashing swapfile
oom oom oom-killer oomkilled killed kill out-of-memory sigkill
limit limit limits limited max maximum exceeded reached threshold quota
thread thread threads fork forks task tasks pids process processes
login login logins log-in logging-in logon prompt password authentication authenticate auth
key key keys pubkey publickey public-key
code code codes otp totp 2fa mfa two-factor second-factor verification authenticator google-authenticator
sudo sudo sudoers visudo nopasswd
ldap ldap ldaps directory slapd openldap sssd nslcd active-directory ad ldapsearch
verify verify verifies verified verification check checks checked trust trusted untrusted
update update updates updated upgrade upgrades upgraded upgrading apt apt-get dist-upgrade patch patches patched dnf yum
package package packages dpkg deb rpm
kernel kernel kernels vmlinuz linux-image
initrd initrd initramfs initrd.img dracut mkinitramfs ramdisk
module module modules modprobe insmod lsmod depmod kmod
grub grub grub-pc bootloader boot-loader grub-install
eol end-of-life eol unsupported no-longer-supported obsolete oldstable archive not-found
cron cron crond crontab anacron cronjob cron.daily cron.d cron.hourly cron.weekly run-parts
service service services unit units daemon daemons systemd systemctl
restartloop restarting over-and-over again-and-again endlessly loop loops respawn respawned respawning restart flapping auto-restart every-few-seconds
mtu mtu jumbo frames fragmentation mss clamp fragment
tunnel tunnel tunnels vpn wireguard wg openvpn ipsec gre vxlan tailscale pppoe
bridge bridge bridges bridged brctl
ipv6 ipv6 v6 slaac ra ras radvd router-advertisement router-advertisements accept_ra
forward forward forwarding forwards routing router route routes gateway
firewall firewall iptables nft nftables ufw firewalld netfilter
database database databases db postgres postgresql mysql mariadb mongodb mongo oracle
redis redis valkey keydb
corrupt corrupt corrupted corruption damaged damage broken lost destroyed zeros garbage
powercut power-cut power-loss power-failure power-outage outage unplugged hard-reset crash
ioerror i/o-error input/output-error read-error unreadable medium-error bad-sector bad-sectors bad-block bad-blocks pending
readonly read-only readonly ro remount-ro remounted
inode inode inodes iuse df-i
smart smart smartd smartctl smartmontools self-test
mail mail mails email e-mail notify notified notification alert alerts alarm told warned noticed
degraded degraded degrade faulty failed-disk failed-drive kicked u_ _u
rebuild rebuild rebuilding resync recovery resilver scrub checkarray
serial serial ttyusb0 ttyusb1 ttyusb ttyacm0 ttyacm uart ftdi ch340 rs232 rs485 usb-serial
console console sol ipmi ipmitool bmc ilo idrac serial-over-lan ttys0 ttys1
pxe pxe netboot tftp pxelinux netinst debian-installer d-i installer install
random entropy randomness getrandom urandom rng haveged
sometimes sometimes random randomly sporadic sporadically intermittent intermittently occasionally now-and-then at-random once-in-a-while
busy load peak burst bursts busy heavy many-clients high-traffic ddos benchmark
backlog backlog listen accept queue somaxconn syn
nat nat natted behind-one-router masquerade snat
duplicate same identical duplicate both clone clones cloned cloning template golden image
hugepage hugepage hugepages huge-pages nr_hugepages thp transparent transparent_hugepage khugepaged
ksm ksm ksmd ksmtuned same-page merging merge merged pages_sharing deduplicate dedup
cache cache caches cached caching lvmcache dm-cache bcache hit-rate hit-ratio
write write writes written writing writeback dirty flush flushed
copy copy copies copied copying cp rsync scp dd transfer transfers download upload
device device devices uuid by-uuid by-id
graph graph graphs cacti mrtg rrd munin zabbix librenms grafana monitoring snmp counter counters
duplex duplex half half-duplex autoneg autonegotiation collisions collision
locale locale locales lc_all lang utf-8 setlocale locale-gen lc_ctype
keyserver keyserver keyservers gpg pgp openpgp sks recv-keys dirmngr
multiplex controlmaster controlpath controlpersist controlsocket multiplexing master mux
apparmor apparmor aa-complain aa-status profile denied
hostname hostname host-name own-name fqdn /etc/hosts
setting setting settings parameter parameters value values option configured sysctl sysctl.conf
ignored ignore ignored ignores no-effect not-applied skipped skips not-picked-up isn't-read never-runs
reset resets back-to overridden overwritten reverts lost-after
trim trim fstrim discard unmap
auto automatic automatically unattended unattended-upgrades auto-upgrade by-itself
tsc tsc hpet clocksource acpi_pm kvm-clock gettimeofday clock_gettime vdso
watch inotify fsnotify watcher watchers watches
files too-many-open-files open-files nofile ulimit emfile
arp arp neigh neighbour neighbor ndisc gc_thresh3 arp_cache
conntrack conntrack nf_conntrack ip_conntrack connection-tracking tracked tracking
asymmetric asymmetric rp_filter reverse-path martian two-nics second-nic secondary multihomed uplinks two-gateways
`

// senseMark begins a sense's name, and questionMark what a question begins with: no word
// that a text has begins so.
const (
	senseMark    = "="
	questionMark = "?"
)

var senses = sync.OnceValue(func() map[string][]concept {
	m := make(map[string][]concept, 1024)
	tk := make(tokenizer, 1024)
	for line := range strings.Lines(thesaurus) {
		name := ""
		for word := range strings.FieldsSeq(line) {
			if name == "" {
				name = senseMark + word
			} else if seq := tk.tokens(word); len(seq) > 0 {
				m[seq[0]] = append(m[seq[0]], concept{name, seq[1:]})
			}
		}
	}
	return m
})
