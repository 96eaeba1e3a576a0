<?php
// Above each page: the bar with the member's name, the menu, the search of the day.
$words = rows('SELECT word FROM popular WHERE day >= CURDATE() - INTERVAL 3 DAY GROUP BY word ORDER BY SUM(searches) DESC, word LIMIT 7');
$fresh = row('SELECT COUNT(*) AS posts FROM post WHERE written > NOW() - INTERVAL 1 DAY')['posts'];
?>
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title><?= h($title) ?> - <?= h($config['title']) ?></title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header id="hd">
<h1><a href="/"><?= h($config['title']) ?></a></h1>
<ul id="tnb">
<?php if ($member) { ?>
<li class="member">Welcome, <b><?= h($member['name']) ?></b></li>
<li><a href="/logout.php">Log out</a></li>
<?php } else { ?>
<li><a href="/login.php">Log in</a></li>
<?php } ?>
<li><?= $fresh ?> new posts</li>
</ul>
<nav id="gnb"><ul>
<?php foreach ($boards as $one) { ?>
<li class="gnb_1dli"><a class="gnb_1da" href="/list.php?board=<?= h($one['id']) ?>"><?= h($one['title']) ?></a></li>
<?php } ?>
</ul></nav>
<ol id="popular">
<?php foreach ($words as $one) { ?>
<li><a href="/list.php?word=<?= urlencode($one['word']) ?>"><?= h($one['word']) ?></a></li>
<?php } ?>
</ol>
</header>
<main id="container">
<h2><?= h($title) ?></h2>
