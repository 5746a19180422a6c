#!/bin/sh
# Makes a host into web1, the web server of the README and of its picture: what goes wrong on it
# is what goes wrong on real ones. Runs inside a throwaway container (docs/record/record).
set -eu
echo web1 >/etc/hostname
printf '127.0.0.1\tlocalhost\n127.0.1.1\tweb1\n::1\tlocalhost ip6-localhost\n' >/etc/hosts
useradd -m -s /bin/bash jane
rm -f /etc/ssh/ssh_host_dsa_key*

# Jane's rights: sudo ignores the file, because its name has a dot.
printf 'jane ALL=(ALL) ALL\n' >/etc/sudoers.d/jane.doe
chmod 440 /etc/sudoers.d/jane.doe

# The site's certificate has expired.
mkdir -p /etc/nginx/ssl
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=web1.example.org \
	-keyout /etc/nginx/ssl/web1.key -out /root/web1.csr 2>/dev/null
openssl x509 -req -in /root/web1.csr -signkey /etc/nginx/ssl/web1.key -days -1 -out /etc/nginx/ssl/web1.crt 2>/dev/null

# The nightly backup has failed.
cat >/usr/local/bin/backup <<'END'
#!/bin/sh
exec rsync -a /srv/www/ /mnt/backup/www/
END
chmod 755 /usr/local/bin/backup
mkdir -p /srv/www
cat >/etc/systemd/system/backup.service <<'END'
[Unit]
Description=Nightly backup of /srv/www
[Service]
Type=oneshot
ExecStart=/usr/local/bin/backup
END
cat >/etc/systemd/system/shop.service <<'END'
[Unit]
Description=Web shop
[Service]
ExecStart=/usr/bin/sleep infinity
[Install]
WantedBy=multi-user.target
END
cat >/etc/nginx/sites-available/default <<'END'
server {
	listen 80;
	listen 443 ssl;
	ssl_certificate /etc/nginx/ssl/web1.crt;
	ssl_certificate_key /etc/nginx/ssl/web1.key;
	root /srv/www;
}
END

# What admins did while it ran: started a service and never enabled it, and made a typo in sshd's
# configuration, which is not reloaded.
cat >/usr/local/sbin/as-it-runs <<'END'
#!/bin/sh
systemctl start backup.service
systemctl start shop.service
sed -i 's/^#\?PermitRootLogin .*/PermitRootLogin prohibited-password/' /etc/ssh/sshd_config
END
chmod 755 /usr/local/sbin/as-it-runs
