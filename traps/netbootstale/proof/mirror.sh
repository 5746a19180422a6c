#!/bin/sh
# mirror.sh IMAGES TREE: a mirror of Debian's installer as of today, from the tree
# in IMAGES, signed with a key made for it; and in TREE the same installer as it
# was served before, with the kernel and the modules of an older release.
set -e
images=$1 tree=$2 new=$1/debian-installer/amd64
release=$(grep -ao '6\.1\.0-[0-9]*-amd64' "$new/linux" | head -n 1)
dists=/srv/mirror/debian/dists/bookworm
current=main/installer-amd64/current/images index=main/debian-installer/binary-amd64
mkdir -p "$dists/$current/netboot" "$dists/$index" /usr/share/keyrings /root/.gnupg
chmod 700 /root/.gnupg

tar -C "$images" -czf "$dists/$current/netboot/netboot.tar.gz" --exclude=initrd.gz --exclude=grub .
# Its own initrd would take a minute to pack: what the check reads of it is enough.
mkdir -p /tmp/new/debian-installer/amd64
initrd() { # initrd RELEASE FILE
	rm -rf /tmp/initrd
	mkdir -p "/tmp/initrd/lib/modules/$1" /tmp/initrd/etc
	echo bookworm >/tmp/initrd/etc/default-release
	printf 'DISTRIB_ID=Debian\nDISTRIB_RELEASE="12 (bookworm)"\n' >/tmp/initrd/etc/lsb-release
	: >"/tmp/initrd/lib/modules/$1/virtio_net.ko"
	(cd /tmp/initrd && find . | cpio --quiet -o -H newc) | gzip -1 >"$2"
}
initrd "$release" /tmp/new/debian-installer/amd64/initrd.gz
gzip -d "$dists/$current/netboot/netboot.tar.gz"
tar -C /tmp/new -rf "$dists/$current/netboot/netboot.tar" ./debian-installer/amd64/initrd.gz
gzip -1 "$dists/$current/netboot/netboot.tar"
(cd "$dists/$current" && sha256sum ./netboot/netboot.tar.gz >SHA256SUMS)

for p in kernel-image nic-modules ext4-modules; do
	printf 'Package: %s-%s-di\nVersion: 6.1.176-1\nArchitecture: amd64\nKernel-Version: %s\n\n' $p "$release" "$release"
done | xz >"$dists/$index/Packages.xz"

cd "$dists"
gpg --batch --quiet --passphrase '' --quick-generate-key archive@example.org ed25519 sign 1d
gpg --batch --export >/usr/share/keyrings/debian-archive-keyring.gpg
{
	printf 'Suite: oldstable\nCodename: bookworm\nDate: %s\nSHA256:\n' "$(date -u '+%a, %d %b %Y %H:%M:%S UTC')"
	sha256sum $current/SHA256SUMS | sed 's/\(.*\)  \(.*\)/ \1 100 \2/'
} | gpg --batch --quiet --clearsign >InRelease

mkdir -p "$tree"
cp -a "$images/." "$tree"
rm -rf "$tree/debian-installer/amd64/grub"
# The release as the kernel's header tells it, in place.
sed -i "s/$release/6.1.0-09-amd64/" "$tree/debian-installer/amd64/linux"
initrd 6.1.0-09-amd64 "$tree/debian-installer/amd64/initrd.gz"
