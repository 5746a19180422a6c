#!/bin/sh
# Installs Debian with GRUB and fettle on a disk: install FOLDER bios|uefi
set -eux
cd "$1"
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
grub=grub-pc-bin
[ "$2" = bios ] || grub=grub-efi-amd64-bin,dosfstools,mtools
mmdebstrap --quiet --mode=root --variant=minbase --dpkgopt=force-unsafe-io \
	--include=systemd-sysv,dbus,udev,kmod,initramfs-tools,linux-image-cloud-amd64,$grub,grub2-common bookworm root
install -m 755 fettle root/usr/bin/fettle
install -m 644 shell.service root/etc/systemd/system/shell.service
ln -s /etc/systemd/system/shell.service root/etc/systemd/system/multi-user.target.wants/
mkdir -p root/etc/systemd/system.conf.d # emulated: udev may need minutes until a port is there
printf '[Manager]\nDefaultDeviceTimeoutSec=15min\nDefaultTimeoutStartSec=15min\n' >root/etc/systemd/system.conf.d/slow.conf
sed 's/^GRUB_CMDLINE_LINUX_DEFAULT=.*/GRUB_CMDLINE_LINUX_DEFAULT=""/' root/usr/share/grub/default/grub >root/etc/default/grub
truncate -s 3G disk
start=0
if [ "$2" = uefi ]; then
	start=134217728
	printf 'label: gpt\nstart=2048, size=131072, type=uefi\nstart=262144, type=linux\n' | sfdisk -q disk
fi
mkfs.ext4 -q -E offset=$start -d root disk "$(((3221225472 - start - 1048576) / 1024))k"
rm -rf root
mkdir mnt
# update-grub takes loop0 to loop9 for their files.
n=10
until losetup -o $start /dev/loop$n disk; do n=$((n + 1)) && test $n -lt 100; done
mount /dev/loop$n mnt
losetup -d /dev/loop$n # when it is unmounted
uuid=$(blkid -p -o value -s UUID -O $start disk)
echo "UUID=$uuid / ext4 errors=remount-ro 0 1" >mnt/etc/fstab
for d in proc sys; do mount --rbind /$d mnt/$d; done
mount -t tmpfs tmpfs mnt/dev
cp -a /dev/null /dev/zero /dev/urandom /dev/loop$n mnt/dev
mkdir -p mnt/dev/disk/by-uuid # as udev would
ln -s ../../loop$n mnt/dev/disk/by-uuid/$uuid
if [ "$2" = uefi ]; then
	# What grub-install --removable does, where this kernel may have no vfat.
	mkdir -p mnt/boot/efi mnt/boot/grub
	echo "UUID=5EED-0123 /boot/efi vfat umask=0077 0 1" >>mnt/etc/fstab
	cp -r mnt/usr/lib/grub/x86_64-efi mnt/boot/grub/
	printf 'search.fs_uuid %s root\nset prefix=($root)/boot/grub\n' "$uuid" >mnt/root/early.cfg
	chroot mnt grub-mkimage -O x86_64-efi -p /boot/grub -c /root/early.cfg -o /root/grub.efi part_gpt ext2 search search_fs_uuid normal
	truncate -s 64M mnt/root/esp
	chroot mnt mkfs.vfat -F 16 -i 5EED0123 /root/esp
	chroot mnt mmd -i /root/esp ::/EFI ::/EFI/BOOT
	chroot mnt mcopy -i /root/esp /root/grub.efi ::/EFI/BOOT/BOOTX64.EFI
	dd if=mnt/root/esp of=disk bs=1M seek=1 conv=notrunc
	rm mnt/root/esp mnt/root/grub.efi mnt/root/early.cfg
else
	# Without partitions, which not every kernel reads: hence --force.
	chroot mnt grub-install --target=i386-pc --force /dev/loop$n
fi
chroot mnt update-grub
grep -c "root=UUID=$uuid" mnt/boot/grub/grub.cfg
umount -R mnt
