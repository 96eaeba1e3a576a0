<?php
// The form. Who is logged in has no use for it.
require __DIR__.'/common.php';

if ($member) {
    redirect('/list.php');
}
$title = 'Log in';
require __DIR__.'/head.php';
?>
<form id="login" action="/login_check.php" method="post">
<label>Name <input name="mb_id" required></label>
<label>Password <input name="mb_password" type="password" required></label>
<button>Log in</button>
</form>
<?php
require __DIR__.'/tail.php';
