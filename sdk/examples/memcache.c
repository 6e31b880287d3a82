/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache in front of a memcached server: the NIC answers `get` of a key that it holds, and all other requests go to the
 * host. Requests are memcached's text protocol in UDP (protocol.txt of memcached: "UDP protocol").
 *
 * A `set` writes the answer that a later `get` would have into the cache, and goes to the host, which stores and
 * acknowledges it. Every other command that names a key removes that key from the cache. `flush_all`, meta commands, whose
 * keys can be encoded, and a datagram with several commands empty the cache. The server must get all changes through
 * this card and by UDP: the NIC does not see other changes.
 *
 * 64 entries in L2 handler memory, each for one hash of keys; an entry holds an answer of up to ANSWER bytes. Larger
 * values, values that expire, `gets` and requests for several keys go to the server only. An entry's lock is taken while
 * DMA moves the entry.
 *
 * Memory: a `get` copies 512 bytes from L2 to L1, a `set` 512 bytes back; both take a lock in L2, of about 27 cycles.
 * Scratchpad: 576 bytes a core.
 * Handler memory: 33,024 bytes, zeros before the first packet.
 *
 * Run it with --match 'udp.dst_port == 11211', in `spinet attach` with --host-tap (docs/guides/attach.md).
 */
#include <handler.h>
#include <spin_data.h>
#include <spin_net.h>
#include <string.h>

#define ENTRIES 64
#define ENTRY 512 /* bytes; DMA moves rows of 64 */
#define ANSWER (ENTRY - 8)
#define MOST_KEY 250 /* longest key, as in memcached */
#define MOST_VALUE 400

/* Headers in front of an answer: Ethernet, IPv4 without options, UDP, and memcached's own. */
#define ETH_IP_UDP (sizeof(spin_eth_t) + sizeof(spin_ipv4_t) + sizeof(spin_udp_t))

typedef struct __attribute__((__packed__)) {
    spin_be16_t request, number, total, reserved;
} frame_t;

#define HEADERS (ETH_IP_UDP + sizeof(frame_t))

/* An answer as memcached would send it: "VALUE <key> <flags> <bytes>\r\n<value>\r\nEND\r\n". */
typedef struct {
    uint32_t size; /* bytes of the answer; 0: free */
    uint32_t key_size;
    char answer[ANSWER];
} entry_t;

typedef struct __attribute__((__aligned__(64))) {
    spin_lock_t locks[ENTRIES];
    entry_t entries[ENTRIES];
} cache_t;

/* A core's place in L1. The headers of an answer end where it begins. */
typedef struct __attribute__((__aligned__(64))) {
    uint8_t headers[64 - 8];
    entry_t entry;
    uint8_t rest[8];
} place_t;

#define VALUE "VALUE "
#define END "\r\nEND\r\n"

/* A part of the request. */
typedef struct {
    const char *at;
    uint32_t size;
} text_t;

/* The next word, and the text after it; size 0 at the end of the line. */
static text_t next_word(text_t *rest)
{
    while (rest->size > 0 && *rest->at == ' ') {
        rest->at++, rest->size--;
    }
    text_t word = {rest->at, 0};
    while (rest->size > 0 && *rest->at > ' ') {
        rest->at++, rest->size--, word.size++;
    }
    return word;
}

static bool is_word(text_t word, const char *name)
{
    return word.size == strlen(name) && memcmp(word.at, name, word.size) == 0;
}

/* If the line ends here, returns the text after its end. */
static bool skip_line_end(text_t *rest)
{
    if (rest->size < 2 || rest->at[0] != '\r' || rest->at[1] != '\n') {
        return false;
    }
    rest->at += 2, rest->size -= 2;
    return true;
}

/* A number of up to 4 digits, which suffice for a packet, as memcached writes it; -1 for others. */
static int number(text_t word)
{
    int value = 0;
    if (word.size == 0 || word.size > 4 || (word.size > 1 && *word.at == '0')) {
        return -1;
    }
    for (uint32_t i = 0; i < word.size; i++) {
        if (word.at[i] < '0' || word.at[i] > '9') {
            return -1;
        }
        value = value * 10 + (word.at[i] - '0');
    }
    return value;
}

/* The text behind this line. memcached also accepts a line end without a carriage return. */
static text_t behind_line(text_t rest)
{
    while (rest.size > 0 && *rest.at != '\n') {
        rest.at++, rest.size--;
    }
    return rest.size == 0 ? rest : (text_t){rest.at + 1, rest.size - 1};
}

static bool is_one_of(text_t command, const char *const *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (is_word(command, names[i])) {
            return true;
        }
    }
    return false;
}

/* True if the datagram ends with this command. `rest` begins behind the key. */
static bool is_alone(text_t command, text_t rest)
{
    static const char *const storing[] = {"set", "add", "replace", "append", "prepend", "cas"};
    const uint32_t behind = behind_line(rest).size;
    if (!is_one_of(command, storing, sizeof storing / sizeof storing[0])) {
        return behind == 0;
    }
    next_word(&rest); /* flags, then the time until the value expires */
    next_word(&rest);
    const int size = number(next_word(&rest));
    return size >= 0 && behind == (uint32_t)size + 2;
}

/* FNV-1a (draft-eastlake-fnv-21): a hash that spreads short keys well and needs one multiplication a byte. */
static uint32_t entry_of(text_t key)
{
    uint32_t hash = 0x811c9dc5u;
    for (uint32_t i = 0; i < key.size; i++) {
        hash = (hash ^ (uint8_t)key.at[i]) * 0x01000193u;
    }
    return (hash ^ hash >> 16) % ENTRIES;
}

static char *put(char *to, const void *from, uint32_t size)
{
    memcpy(to, from, size);
    return to + size;
}

static void store(cache_t *cache, place_t *place, text_t key)
{
    uint32_t i = entry_of(key);
    spin_dma_t moved;
    spin_lock_lock(&cache->locks[i]);
    spin_dma(&place->entry, &cache->entries[i], ENTRY, SPIN_DMA_LOC2EXT, 0, &moved);
    spin_dma_wait(moved);
    spin_lock_unlock(&cache->locks[i]);
}

static void forget(cache_t *cache, text_t key)
{
    uint32_t i = entry_of(key);
    spin_lock_lock(&cache->locks[i]);
    cache->entries[i].size = 0;
    spin_lock_unlock(&cache->locks[i]);
}

static void forget_all(cache_t *cache)
{
    for (uint32_t i = 0; i < ENTRIES; i++) {
        spin_lock_lock(&cache->locks[i]);
        cache->entries[i].size = 0;
        spin_lock_unlock(&cache->locks[i]);
    }
}

/* True if the cache holds the key: then its entry is in L1. */
static bool look_up(cache_t *cache, place_t *place, text_t key)
{
    uint32_t i = entry_of(key);
    spin_dma_t moved;
    spin_lock_lock(&cache->locks[i]);
    spin_dma(&cache->entries[i], &place->entry, ENTRY, SPIN_DMA_EXT2LOC, 0, &moved);
    spin_dma_wait(moved);
    spin_lock_unlock(&cache->locks[i]);
    const entry_t *entry = &place->entry;
    return entry->size != 0 && entry->key_size == key.size &&
           memcmp(entry->answer + strlen(VALUE), key.at, key.size) == 0;
}

/* Keep the value of `set <key> <flags> <exptime> <bytes> [noreply]\r\n<value>\r\n`, or forget the key. */
static void set(cache_t *cache, place_t *place, text_t key, text_t rest)
{
    text_t flags = next_word(&rest), expires = next_word(&rest), bytes = next_word(&rest);
    next_word(&rest); /* noreply */
    int size = number(bytes);
    bool is_whole = skip_line_end(&rest) && size >= 0 && size <= MOST_VALUE && rest.size == (uint32_t)size + 2 &&
                    rest.at[size] == '\r' && rest.at[size + 1] == '\n';
    uint32_t all = strlen(VALUE) + key.size + 1 + flags.size + 1 + bytes.size + 2 + (uint32_t)size + strlen(END);
    if (!is_whole || number(expires) != 0 || number(flags) < 0 || all > ANSWER) {
        forget(cache, key);
        return;
    }
    entry_t *entry = &place->entry;
    char *at = put(entry->answer, VALUE, strlen(VALUE));
    at = put(at, key.at, key.size);
    *at++ = ' ';
    at = put(at, flags.at, flags.size);
    *at++ = ' ';
    at = put(at, bytes.at, bytes.size);
    at = put(at, "\r\n", 2);
    at = put(at, rest.at, (uint32_t)size);
    put(at, END, strlen(END));
    entry->size = all;
    entry->key_size = key.size;
    store(cache, place, key);
}

/* Send the entry in L1 as the answer to this request. */
static void answer(const spin_headers_t *request, const frame_t *asked, place_t *place)
{
    uint32_t size = place->entry.size, udp_size = (uint32_t)(sizeof(spin_udp_t) + sizeof(frame_t)) + size;
    uint8_t *start = (uint8_t *)place->entry.answer - HEADERS; /* over the entry's numbers, which were read */
    memcpy(start, request->eth, sizeof(spin_eth_t));
    memcpy(start + sizeof(spin_eth_t), request->ipv4, sizeof(spin_ipv4_t));
    memcpy(start + sizeof(spin_eth_t) + sizeof(spin_ipv4_t), request->udp, sizeof(spin_udp_t));
    memcpy(start + ETH_IP_UDP, asked, sizeof(frame_t));

    spin_headers_t headers = {
        .eth = (spin_eth_t *)start,
        .ipv4 = (spin_ipv4_t *)(start + sizeof(spin_eth_t)),
        .udp = (spin_udp_t *)(start + sizeof(spin_eth_t) + sizeof(spin_ipv4_t)),
    };
    spin_eth_swap(headers.eth);
    spin_ipv4_swap(headers.ipv4);
    spin_udp_swap(headers.udp);
    headers.ipv4->total_length = spin_htons((uint16_t)(sizeof(spin_ipv4_t) + udp_size));
    headers.ipv4->checksum = spin_ipv4_checksum(headers.ipv4);
    headers.udp->length = spin_htons((uint16_t)udp_size);
    headers.udp->checksum = spin_udp_checksum(&headers);
    spin_cmd_t sent;
    spin_send_packet(start, HEADERS + size, &sent);
}

/* The text of a request of one datagram; size 0 for others. */
static text_t text_of(const spin_headers_t *headers)
{
    if (headers->udp == NULL || headers->ipv4 == NULL || spin_ipv4_header_size(headers->ipv4) != sizeof(spin_ipv4_t) ||
        headers->eth->type != spin_htons(SPIN_ETH_IPV4)) {
        return (text_t){NULL, 0};
    }
    spin_pkt_t payload = spin_udp_payload(headers->udp);
    const frame_t *frame = (const frame_t *)spin_pkt_at(payload, 0, sizeof(frame_t));
    if (frame == NULL || frame->total != spin_htons(1)) {
        return (text_t){NULL, 0};
    }
    return (text_t){(const char *)(frame + 1), payload.size - (uint32_t)sizeof(frame_t)};
}

__handler__ void memcache_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    spin_headers_t headers = spin_parse(spin_pkt(task->pkt_mem, task->pkt_mem_size));
    text_t rest = text_of(&headers);
    if (rest.size == 0 || task->handler_mem_size < sizeof(cache_t) ||
        task->scratchpad_size[args->cluster_id] < (args->hpu_id + 1) * sizeof(place_t)) {
        spin_data_to_host(task);
        return;
    }
    cache_t *cache = (cache_t *)task->handler_mem;
    place_t *place = (place_t *)task->scratchpad[args->cluster_id] + args->hpu_id;
    text_t command = next_word(&rest), key = next_word(&rest);

    if (is_word(command, "get")) {
        const frame_t *asked = (const frame_t *)(headers.udp + 1);
        const bool is_last = behind_line(rest).size == 0;
        if (key.size > 0 && key.size <= MOST_KEY && is_last && skip_line_end(&rest) && look_up(cache, place, key)) {
            answer(&headers, asked, place);
            return;
        }
        if (!is_last) {
            forget_all(cache);
        }
    } else if (!is_alone(command, rest) || is_word(command, "flush_all") || (command.size == 2 && *command.at == 'm')) {
        forget_all(cache);
    } else if (is_word(command, "set") && key.size > 0 && key.size <= MOST_KEY) {
        set(cache, place, key, rest);
    } else if (is_word(command, "gat") || is_word(command, "gats")) { /* the keys are behind a time */
        while ((key = next_word(&rest)).size > 0) {
            forget(cache, key);
        }
    } else if (key.size > 0 && !is_word(command, "gets")) {
        forget(cache, key);
    }
    spin_data_to_host(task);
}
