/* A source of names that is silent for 800 ms, as mdns is where nobody answers. */
#include <errno.h>
#include <netdb.h>
#include <nss.h>
#include <unistd.h>

static enum nss_status nobody(int *e, int *h)
{
	usleep(800000);
	*e = ENOENT;
	*h = HOST_NOT_FOUND;
	return NSS_STATUS_NOTFOUND;
}

enum nss_status _nss_sleep_gethostbyaddr2_r(const void *a, unsigned n, int af, struct hostent *r, char *b, size_t l, int *e, int *h, int *t) { return nobody(e, h); }
enum nss_status _nss_sleep_gethostbyaddr_r(const void *a, unsigned n, int af, struct hostent *r, char *b, size_t l, int *e, int *h) { return nobody(e, h); }
enum nss_status _nss_sleep_gethostbyname2_r(const char *n, int af, struct hostent *r, char *b, size_t l, int *e, int *h) { return nobody(e, h); }
enum nss_status _nss_sleep_gethostbyname4_r(const char *n, void **p, char *b, size_t l, int *e, int *h, int *t) { return nobody(e, h); }
