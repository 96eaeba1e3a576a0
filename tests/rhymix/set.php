<?php
// Changes settings in files/config/config.php.
require __DIR__ . '/loaded.php';

foreach ($values as $name => $value) {
    Rhymix\Framework\Config::set($name, $value);
}
Rhymix\Framework\Config::save();
print json_encode(true);
