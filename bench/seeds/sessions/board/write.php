<?php
// The form for a post, for guests as well. A token in the session keeps other sites from sending it.
require __DIR__.'/common.php';

$board = board_asked_for();
$token = bin2hex(random_bytes(16));
set_session('ss_token', $token);
$title = 'Write: '.$board['title'];
require __DIR__.'/head.php';
?>
<form id="fwrite" action="/write_update.php" method="post">
<input type="hidden" name="token" value="<?= $token ?>">
<input type="hidden" name="board" value="<?= h($board['id']) ?>">
<?php if (!$member) { ?><label>Name <input name="author" required></label><?php } ?>
<label>Subject <input name="subject" required></label>
<textarea name="body" required></textarea>
<button>Write</button>
</form>
<?php
require __DIR__.'/tail.php';
