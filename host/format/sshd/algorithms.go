package sshd

import (
	"fmt"
	"slices"
	"strings"
)

// algorithms are all names that some OpenSSH has known as a cipher, a MAC or a
// key exchange. A name that none knew is a mistake that sshd refuses; whether
// this build still has an old one is not decided here.
var algorithms = map[string]string{
	"ciphers": ` 3des-cbc aes128-cbc aes192-cbc aes256-cbc rijndael-cbc@lysator.liu.se aes128-ctr aes192-ctr aes256-ctr
		aes128-gcm@openssh.com aes256-gcm@openssh.com chacha20-poly1305@openssh.com arcfour arcfour128 arcfour256 blowfish-cbc
		cast128-cbc none `,
	"macs": ` hmac-sha1 hmac-sha1-96 hmac-sha2-256 hmac-sha2-512 hmac-sha2-256-96 hmac-sha2-512-96 hmac-md5 hmac-md5-96 umac-64@openssh.com
		umac-128@openssh.com hmac-sha1-etm@openssh.com hmac-sha1-96-etm@openssh.com hmac-sha2-256-etm@openssh.com
		hmac-sha2-512-etm@openssh.com hmac-md5-etm@openssh.com hmac-md5-96-etm@openssh.com umac-64-etm@openssh.com
		umac-128-etm@openssh.com hmac-ripemd160 hmac-ripemd160@openssh.com hmac-ripemd160-etm@openssh.com none `,
	"kexalgorithms": ` diffie-hellman-group1-sha1 diffie-hellman-group14-sha1 diffie-hellman-group14-sha256 diffie-hellman-group16-sha512
		diffie-hellman-group18-sha512 diffie-hellman-group-exchange-sha1 diffie-hellman-group-exchange-sha256 ecdh-sha2-nistp256
		ecdh-sha2-nistp384 ecdh-sha2-nistp521 curve25519-sha256 curve25519-sha256@libssh.org sntrup4591761x25519-sha512@tinyssh.org
		sntrup761x25519-sha512@openssh.com sntrup761x25519-sha512 mlkem768x25519-sha256 mlkem768nistp256-sha256 mlkem1024nistp384-sha384 `,
}

// knownAlgorithms refuses a list with a name that no OpenSSH knows. What a list
// takes away ("-3des*") may be anything.
func knownAlgorithms(keyword, list string) error {
	names, ok := algorithms[keyword]
	if !ok || strings.HasPrefix(list, "-") {
		return nil
	}
	words := strings.Fields(names)
	for n := range strings.SplitSeq(strings.TrimLeft(list, "+^"), ",") {
		if !slices.Contains(words, n) {
			return fmt.Errorf("%s: an algorithm that OpenSSH does not have", keyword)
		}
	}
	return nil
}
