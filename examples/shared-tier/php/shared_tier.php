<?php
/*
 * Shows, replaces and purges a page that Kasoku keeps in memcached (docs/shared-format.md).
 *
 * usage: php shared_tier.php SERVERS show URI [FIELD…]
 *        php shared_tier.php SERVERS replace URI [FIELD…] <BODY
 *        php shared_tier.php SERVERS purge URI
 *
 * SERVERS are those of `shared.memcached`, spelled as there, with commas between them. A FIELD is one of the request, such as
 * "Accept-Language: ja", for a page that varies by it. KASOKU_NAMESPACE and KASOKU_SECRET_FILE are `shared.namespace` and `shared.secret-file`.
 *
 * Needs PHP 8.1 with the extension memcached (Debian: php-cli, php-memcached).
 */

declare(strict_types=1);

final class Tier
{
    private readonly string $namespace;
    private readonly string $secret;
    private readonly string $algorithm;
    private readonly int $room;
    private Memcached $ring;
    /** One client for each server, by its address. */
    private array $each = [];

    public function __construct(array $servers)
    {
        $this->namespace = getenv('KASOKU_NAMESPACE') ?: 'kasoku';
        $file = getenv('KASOKU_SECRET_FILE');
        $this->secret = $file ? preg_replace('/\n\z/', '', file_get_contents($file)) : '';
        $this->algorithm = $file ? 'hmac-sha256' : 'xxh3-128';
        // memcached's -I is `shared.item-bytes-max`; memcached needs 512 bytes of it for itself.
        $this->room = (int) (getenv('KASOKU_ITEM_BYTES_MAX') ?: 1 << 20) - 512;
        $this->ring = $this->client();
        foreach ($servers as $spelled) {
            [$host, $port, $weight] = self::address($spelled);
            $this->ring->addServer($host, $port, $weight);
            $this->each["$host:$port"] = $this->client();
            $this->each["$host:$port"]->addServer($host, $port);
        }
    }

    private function client(): Memcached
    {
        $client = new Memcached();
        // This is the ring of `shared.ring = "ketama-weighted"`. Without compression, items are what they are.
        $client->setOption(Memcached::OPT_LIBKETAMA_COMPATIBLE, true);
        $client->setOption(Memcached::OPT_COMPRESSION, false);
        return $client;
    }

    private static function address(string $spelled): array
    {
        if (str_starts_with($spelled, 'unix:')) {
            return [substr($spelled, 5), 0, 1];
        }
        [$address, $weight] = explode(' ', "$spelled 1");
        $colon = strrpos($address, ':');
        return [substr($address, 0, $colon), (int) substr($address, $colon + 1), (int) $weight];
    }

    private function digest(string $data): string
    {
        return $this->secret === '' ? hash('xxh128', $data) : hash_hmac('sha256', $data, $this->secret);
    }

    private function chunkDigest(string $data): string
    {
        return hash($this->secret === '' ? 'xxh128' : 'sha256', $data);
    }

    private function sealed(string $kind, string $content): string
    {
        $words = "KASOKU/1 $kind $this->algorithm";
        return "$words " . $this->digest("$words\r\n$content") . "\r\n$content";
    }

    /** The kind and the content of an item; an error if its digest is wrong. */
    private function opened(string $item): array
    {
        [$first, $content] = explode("\r\n", $item, 2);
        [$version, $kind, $algorithm, $stated] = explode(' ', $first);
        $isIntact = hash_equals($this->digest("$version $kind $algorithm\r\n$content"), $stated);
        if ($version !== 'KASOKU/1' || $algorithm !== $this->algorithm || !$isIntact) {
            throw new RuntimeException('the item is damaged, or sealed in another way');
        }
        return [$kind, $content];
    }

    private function name(string $uri, ?string $variant = null): string
    {
        return "$this->namespace:" . hash('sha256', $variant === null ? $uri : "$uri\0$variant");
    }

    /** For fields whose values are in lower case and have no quality. docs/shared-format.md says what becomes of other ones. */
    private static function variant(array $names, array $fields): string
    {
        $variant = '';
        foreach ($names as $name) {
            $value = $fields[$name] ?? null;
            $variant .= $name . ($value === null ? "\0" : "\1" . pack('N', strlen($value)) . $value);
        }
        return $variant;
    }

    private static function values(string $lines): array
    {
        $values = [];
        foreach (explode("\r\n", $lines) as $line) {
            [$name, $value] = explode(': ', $line, 2);
            $values[$name] = $value;
        }
        return $values;
    }

    private function content(string $name): string
    {
        $item = $this->ring->get($name);
        if ($item === false) {
            throw new RuntimeException('there is no such page');
        }
        [$kind, $content] = $this->opened($item);
        if ($kind === 'whole') {
            return $content;
        }
        [$lines, $digests] = explode("\r\n\r\n", $content, 2);
        $manifest = self::values($lines);
        $content = '';
        foreach (explode("\r\n", rtrim($digests)) as $number => $stated) {
            // A chunk is in the server of its item, which the client finds by the item's name.
            $chunk = $this->ring->getByKey($name, "$name:{$manifest['Id']}:$number");
            if ($chunk === false || $this->chunkDigest($chunk) !== $stated) {
                throw new RuntimeException('a chunk is missing or damaged');
            }
            $content .= $chunk;
        }
        return $content;
    }

    /** The name of the page's item, its lines, its head and its body. */
    public function read(string $uri, array $fields): array
    {
        $name = $this->name($uri);
        [$lines, $rest] = explode("\r\n\r\n", $this->content($name), 2);
        $values = self::values($lines);
        if ($values['Kind'] === 'fields') {
            $name = $this->name($uri, self::variant(explode(',', $values['Vary-On']), $fields));
            [$lines, $rest] = explode("\r\n\r\n", $this->content($name), 2);
        }
        [$head, $body] = explode("\r\n\r\n", $rest, 2);
        return [$name, $lines, $head, $body];
    }

    /** Returns the counter of each server by its address. */
    public function purge(string $uri): array
    {
        $id = bin2hex(random_bytes(16));
        $counters = [];
        foreach ($this->each as $address => $server) {
            $number = $server->increment("$this->namespace:purges");
            if ($number === false) {
                $server->add("$this->namespace:purges", (string) (int) (microtime(true) * 1e6));
                $number = $server->increment("$this->namespace:purges");
            }
            $text = "Kind: purge\r\nId: $id\r\nNumber: $number\r\nPurge: hard\r\nKey: $uri\r\n\r\n";
            $server->set("$this->namespace:purges:$number", $this->sealed('whole', $text), 86400);
            $counters[$address] = $number;
        }
        return $counters;
    }

    public function replace(string $uri, array $fields, string $body): void
    {
        [$name, $lines, $head] = $this->read($uri, $fields);
        $values = self::values($lines);
        $server = $this->ring->getServerByKey($name);
        // Front ends drop what they have of the page. The new one is younger than this purge.
        $counter = $this->purge($uri)["{$server['host']}:{$server['port']}"];
        $changed = [
            'Generation' => explode(' ', $values['Generation'])[0] . " $counter",
            'Received' => (string) (int) (microtime(true) * 1000),
            'Initial-Age' => '0',
            'Body-Length' => (string) strlen($body),
        ];
        $text = '';
        foreach (explode("\r\n", $lines) as $line) {
            [$field, $value] = explode(': ', $line, 2);
            if ($field !== 'Withheld') {
                $text .= "$field: " . ($changed[$field] ?? $value) . "\r\n";
            }
        }
        $text .= "\r\n";
        foreach (explode("\r\n", $head) as $line) {
            if (!preg_match('/^(date|content-length|content-encoding|etag|last-modified):/i', $line)) {
                $text .= "$line\r\n";
            }
        }
        $text .= 'Date: ' . gmdate('D, d M Y H:i:s') . " GMT\r\nContent-Length: " . strlen($body) . "\r\n\r\n$body";
        $stale = 0;
        foreach (['Stale-While-Revalidate', 'Stale-If-Error', 'Grace'] as $line) {
            $stale = max($stale, (int) ($values[$line] ?? 0));
        }
        $this->write($name, $text, (int) $values['Lifetime'] + $stale);
    }

    private function write(string $name, string $content, int $seconds): void
    {
        // memcached takes more than 30 days for a date.
        $expires = $seconds <= 30 * 86400 ? $seconds : time() + $seconds;
        $item = $this->sealed('whole', $content);
        if (strlen($item) > $this->room) {
            $id = bin2hex(random_bytes(16));
            $digests = '';
            // The chunks come first: whoever finds the manifest finds them.
            foreach (str_split($content, $this->room) as $number => $chunk) {
                $this->ring->setByKey($name, "$name:$id:$number", $chunk, $expires);
                $digests .= $this->chunkDigest($chunk) . "\r\n";
            }
            $length = strlen($content);
            $item = $this->sealed('chunks', "Id: $id\r\nLength: $length\r\nChunk-Length: $this->room\r\n\r\n$digests");
        }
        $this->ring->set($name, $item, $expires);
    }
}

[, $servers, $command, $uri] = $argv + [null, null, null, null];
if ($uri === null || !in_array($command, ['show', 'replace', 'purge'], true)) {
    exit("usage: php shared_tier.php SERVERS show|replace|purge URI [FIELD…]\n");
}
$tier = new Tier(explode(',', $servers));
$fields = [];
foreach (array_slice($argv, 4) as $field) {
    [$name, $value] = explode(': ', $field, 2);
    $fields[strtolower($name)] = $value;
}
switch ($command) {
    case 'show':
        [$name, $lines, $head, $body] = $tier->read($uri, $fields);
        echo "$name\r\n$lines\r\n\r\n$head\r\n\r\n$body";
        break;
    case 'replace':
        $tier->replace($uri, $fields, stream_get_contents(STDIN));
        break;
    default:
        $tier->purge($uri);
}
