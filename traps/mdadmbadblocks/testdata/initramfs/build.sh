#!/bin/sh
# build.sh OUT SCRIPT: a real initramfs of Debian's initramfs-tools with SCRIPT in
# it, as OUT/initrd and OUT/initrd-klibc (without busybox); its kernel; and
# OUT/initrd-prepare, which makes the arrays. Packages are installed into an
# overlay over this machine's root, which is gone with the mount namespace that
# this runs in (unshare --mount).
set -eu
out=$1 script=$2 here=$(dirname "$0")
work=$out/overlay
mkdir "$work"
mount -t tmpfs -o size=3G tmpfs "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root"
root=$work/root
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --bind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mkdir "$root/tmp/out" "$root/tmp/in"
mount --bind "$out" "$root/tmp/out"
cp "$here/prepare" "$here/init" "$root/tmp/in"
cp "$script" "$root/tmp/in/script"
exec chroot "$root" /bin/sh -eux <<'INSIDE'
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
apt-get install -qy --no-install-recommends initramfs-tools busybox linux-image-cloud-amd64
cp /boot/vmlinuz-* /tmp/out/vmlinuz
plain=$(ls /boot/initrd.img-*)
cp "$plain" /tmp/out/plain
for d in local-top local-premount; do
	install -m 755 /tmp/in/script "/etc/initramfs-tools/scripts/$d/fettle-md-no-bbl"
done
update-initramfs -u
cp "$plain" /tmp/out/initrd
sed -i s/BUSYBOX=auto/BUSYBOX=n/ /etc/initramfs-tools/initramfs.conf
update-initramfs -u
cp "$plain" /tmp/out/initrd-klibc
# The root file system: busybox, mdadm, and an init that tells what it finds.
mkdir -p /tmp/root/bin /tmp/root/sbin /tmp/root/dev /tmp/root/proc /tmp/root/sys /tmp/root/run /tmp/prepare
cp /bin/busybox /tmp/root/bin/
cp /sbin/mdadm /tmp/root/sbin/
ldd /bin/busybox /sbin/mdadm | grep -o '/[^ :]* (' | tr -d ' (' | sort -u | while read -r lib; do
	mkdir -p "/tmp/root$(dirname "$lib")"
	cp -L "$lib" "/tmp/root$lib"
done
for x in sh mount cat ls poweroff sync; do ln -s busybox "/tmp/root/bin/$x"; done
install -m 755 /tmp/in/init /tmp/root/sbin/init
truncate -s 24M /tmp/prepare/rootfs
mkfs.ext4 -q -L fettle-root -d /tmp/root /tmp/prepare/rootfs
install -m 755 /tmp/in/prepare /tmp/prepare/prepare
(cd /tmp/prepare && find . | cpio --quiet -o -H newc) > /tmp/out/initrd-prepare
cat /tmp/out/plain >> /tmp/out/initrd-prepare
INSIDE
