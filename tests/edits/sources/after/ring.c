#include "ring.h"

#include <stdlib.h>
#include <string.h>

#define RING_MIN   (1 << 4)
#define RING_MAX   (1 << 24)
#define RING_STEP  (1 << 6)

#define RING_MASK(r) ((r)->size - 1)

struct ring {
	unsigned char *data;
	size_t size;
	size_t head, tail;
};

/* Rounds up to a power of two. */
static size_t round_up(size_t n)
{
	size_t size = RING_MIN;

	while (size < n && size < RING_MAX)
		size <<= 1;
	return size;
}

int ring_put(struct ring *r, const unsigned char *p, size_t n)
{
	size_t i;

	if (!p || r->size - (r->head - r->tail) < n)
		return -1;
	for (i = 0; i < n; i++)
		r->data[r->head++ & RING_MASK(r)] = p[i];
	return 0;
}

char *ring_name(const char *s)
{
	char *end = strchr(s, ':');

	if (end && end > s) {
		if (end[1] != '\\') {
			*end = 0;
			s++;
		}
		end++;
	} else
		end = (char *)s;
	return *end == '\\' ? NULL : end;
}
