# What Debian's installer leaves behind on a server, beyond the packages.
echo host > /etc/hostname
printf '127.0.0.1\tlocalhost\n127.0.1.1\thost.example.org\thost\n\n::1     localhost ip6-localhost ip6-loopback\nff02::1 ip6-allnodes\nff02::2 ip6-allrouters\n' > /etc/hosts
printf '0.0 0 0.0\n0\nUTC\n' > /etc/adjtime
mkdir -p /etc/network
printf 'source /etc/network/interfaces.d/*\n\nauto lo\niface lo inet loopback\n' > /etc/network/interfaces
sed -i 's/^# *en_US.UTF-8 UTF-8/en_US.UTF-8 UTF-8/' /etc/locale.gen
locale-gen
update-locale LANG=en_US.UTF-8
useradd -m -s /bin/bash -G sudo admin
apt-get update -q
apt-get clean
rm -f /etc/resolv.conf
printf 'nameserver 192.0.2.53\n' > /etc/resolv.conf
rm -f /etc/machine-id && : > /etc/machine-id
